import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const FILES = globSync('{apps,packages}/*/src/**/*.ts', { cwd: ROOT })
const PREFIXES = { 'cli/': 'apps/cli/src/', 'sdk/': 'packages/sdk/src/', 'protocol/': 'packages/protocol/src/' }

function full(name: string): string {
  const prefix = Object.entries(PREFIXES).find(([short]) => name.startsWith(short))
  return prefix === undefined ? name : name.replace(prefix[0], prefix[1])
}

describe.each(['join', 'revoke'])('docs/flows/%s.md', (flow) => {
  const text = readFileSync(join(ROOT, 'docs', 'flows', `${flow}.md`), 'utf8')

  it('has ten steps', () => {
    expect([...text.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
  })

  it('names files that exist', () => {
    const named = [...text.matchAll(/`([a-z/-]+\.ts)`/g)].map(([, name = '']) => full(name))
    expect(named.length).toBeGreaterThan(15)
    const unknown = named.filter((name) => !FILES.some((file) => file === name || file.endsWith(`/${name}`)))
    expect(unknown).toEqual([])
  })
})
