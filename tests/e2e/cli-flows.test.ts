import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const FILES = new Set(globSync('{apps,packages}/*/src/**/*.ts', { cwd: ROOT }))
const PREFIXES = {
  'cli/': 'apps/cli/src/',
  'contract/': 'packages/contract/src/',
  'gateway/': 'apps/gateway/src/',
  'protocol/': 'packages/protocol/src/',
  'sdk/': 'packages/sdk/src/',
  'service-kit/': 'packages/service-kit/src/',
}
const FLOWS = globSync('docs/flows/*.md', { cwd: ROOT }).map((file) => basename(file, '.md'))
const MAX_FILES_OF_A_REQUEST = 15

/** The files a text names with a folder. A name without a known prefix is in one of the given folders. */
function filesIn(text: string, others: readonly string[]): { readonly named: number; readonly missing: string[] } {
  const named = [...new Set([...text.matchAll(/`([a-z./-]+\/[a-z.-]+\.ts)`/g)].map(([, name = '']) => name))]
  const isThere = (name: string): boolean => {
    const prefix = Object.entries(PREFIXES).find(([short]) => name.startsWith(short))
    if (prefix !== undefined) return FILES.has(name.replace(...prefix))
    return existsSync(join(ROOT, name)) || others.some((folder) => FILES.has(`${folder}${name}`))
  }
  return { named: named.length, missing: named.filter((name) => !isThere(name)) }
}

describe.each(FLOWS)('docs/flows/%s.md', (flow) => {
  const text = readFileSync(join(ROOT, 'docs', 'flows', `${flow}.md`), 'utf8')

  it('has ten steps', () => {
    expect([...text.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
  })

  it('names files that exist', () => {
    const { named, missing } = filesIn(text, ['apps/authority/src/'])
    expect(named).toBeGreaterThan(6)
    expect(missing).toEqual([])
  })
})

describe('docs/architecture.md', () => {
  const text = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8')

  it('names files that exist', () => {
    const { named, missing } = filesIn(text, ['apps/authority/src/', 'apps/gateway/src/'])
    expect(named).toBeGreaterThan(35)
    expect(missing.filter((name) => !name.startsWith('tools/'))).toEqual([])
  })

  it('shows three requests with at most 15 files each', () => {
    const [, join = '', evaluate = '', verify = ''] = text.slice(0, text.indexOf('\n## State')).split('\n### ')
    const counts = [join, evaluate, verify].map((part) => {
      const table = part
        .split('\n')
        .filter((line) => line.startsWith('| '))
        .join('\n')
      return filesIn(table, []).named
    })
    expect(Math.min(...counts)).toBeGreaterThan(10)
    expect(Math.max(...counts)).toBeLessThanOrEqual(MAX_FILES_OF_A_REQUEST)
  })
})
