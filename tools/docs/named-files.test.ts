import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
/** They stand for files of every feature, and for a folder of the library. */
const OF_EVERY_FEATURE = new Set(['nodejs/', 'parts.ts', 'queries.ts', 'queries/', 'requests.ts', 'routes.ts'])
const ARCHITECTURE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

/** Paths of code in code spans: they have a slash, or the ending of a source file. */
function filesIn(text: string): string[] {
  const spans = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]*)+|[\w.-]+\.(?:ts|mjs))`/g)].map(([, name]) => name ?? '')
  return [...new Set(spans)].filter((name) => !OF_EVERY_FEATURE.has(name))
}

/** `protocol/x.ts` is short for `packages/protocol/src/x.ts`, `cli/x.ts` for `apps/cli/src/x.ts`. */
function isThere(name: string): boolean {
  const [first = '', ...rest] = name.split('/')
  const places = [name, `apps/authority/src/${name}`, `apps/gateway/src/${name}`]
  for (const kind of ['packages', 'apps']) places.push([kind, first, 'src', ...rest].join('/'))
  return places.some((place) => existsSync(join(ROOT, place)))
}

describe('files named in documents', () => {
  it.each(['docs/architecture.md', ...globSync('docs/flows/*.md', { cwd: ROOT }).toSorted()])('%s: exist', (page) => {
    const names = filesIn(readFileSync(join(ROOT, page), 'utf8')).filter((name) => /\.(?:ts|mjs)$|\/$/.test(name))
    expect(names.length).toBeGreaterThan(5)
    expect(names.filter((name) => !isThere(name))).toEqual([])
  })

  it('are at most 15 for the life of each request', () => {
    const [, life = ''] = /\n## Life of three requests\n([\s\S]*?)\n## /.exec(ARCHITECTURE) ?? []
    const requests = life.split('\n### ').slice(1)
    expect(requests).toHaveLength(3)
    for (const request of requests) {
      const names = filesIn(request).filter((name) => name.endsWith('.ts'))
      expect(names.length, request.slice(0, 40)).toBeGreaterThan(10)
      expect(names.length, request.slice(0, 40)).toBeLessThanOrEqual(15)
    }
  })
})
