import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
/** They stand for files of every feature, for a folder of the library, and for a name that none should have. */
const OF_EVERY_FEATURE = new Set(['nodejs/', 'queries.ts', 'queries/', 'requests.ts', 'routes.ts', 'types.ts'])
/** Of every app, package, tool and test. */
const SOURCES = globSync(['{apps,packages}/*/src/**/*.{ts,tsx}', '{tests,tools}/**/*.ts'], {
  cwd: ROOT,
  exclude: (path) => path.includes('node_modules'),
}).toSorted()
const SOURCE_FILE = /(?<![\w./@{-])(?:[\w-]+\/)*[\w-]+(?:\.[\w-]+)*\.tsx?\b/g
/** Examples of paths. */
const PATTERNS = new Set([
  'protocol/x.ts',
  'packages/protocol/src/x.ts',
  'cli/x.ts',
  'apps/cli/src/x.ts',
  'pages/NAME/page.tsx',
])
const CONTRIBUTOR_PAGES = ['CONTRIBUTING.md', ...globSync('docs/project/*.md', { cwd: ROOT }).toSorted()]
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

/** Tracked files and their folders, by every end of their path. */
function endsOfPaths(): Set<string> {
  const ends = new Set<string>()
  for (const path of execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')) {
    const parts = path.split('/')
    for (const at of parts.keys()) ends.add(parts.slice(at).join('/'))
  }
  return ends
}

/** The comments of a source. A text with two slashes is read as one, too. */
function commentsOf(source: string): string {
  return [...source.matchAll(/(?<![:\w])\/\/[^\n]*|\/\*[\s\S]*?\*\//g)].map(([text]) => text).join('\n')
}

describe('comments', () => {
  it('name only source files that exist', () => {
    const ends = endsOfPaths()
    const stale = SOURCES.flatMap((path) =>
      [...commentsOf(readFileSync(join(ROOT, path), 'utf8')).matchAll(SOURCE_FILE)]
        .map(([name]) => name)
        .filter((name) => !PATTERNS.has(name) && !ends.has(name))
        .map((name) => `${path}: ${name}`),
    )
    expect(stale).toEqual([])
  })
})

describe('names of errors', () => {
  it('end in Error, except for the three refusals', () => {
    const wrong = SOURCES.filter((path) => !/\.(?:test|suite)\.tsx?$/.test(path)).flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/\bclass (\w+) extends \w*Error\b/g)]
        .map(([, name = '']) => name)
        .filter((name) => !name.endsWith('Error') && !['Refusal', 'GatewayRefusal', 'TokenRefusal'].includes(name))
        .map((name) => `${path}: ${name}`),
    )
    expect(wrong).toEqual([])
  })
})

describe('files named in documents', () => {
  it.each(CONTRIBUTOR_PAGES)('%s: exist, by any end of their path', (page) => {
    const ends = endsOfPaths()
    const names = filesIn(readFileSync(join(ROOT, page), 'utf8')).filter((name) => /\.(?:ts|mjs)$/.test(name))
    expect(names.filter((name) => !ends.has(name))).toEqual([])
  })

  it.each(['docs/architecture.md', ...globSync('docs/flows/*.md', { cwd: ROOT }).toSorted()])('%s: exist', (page) => {
    const names = filesIn(readFileSync(join(ROOT, page), 'utf8')).filter((name) => /\.(?:ts|mjs)$|\/$/.test(name))
    expect(names.length).toBeGreaterThan(5)
    expect(names.filter((name) => !isThere(name))).toEqual([])
  })

  it('hold each rule of a true answer with a test', () => {
    const [, section = ''] = /\n## Rules of a true answer\n([\s\S]*?)(?:\n## |$)/.exec(ARCHITECTURE) ?? []
    const rules = section.split('\n- **').slice(1)
    expect(rules).toHaveLength(6)
    for (const rule of rules)
      expect(
        filesIn(rule).some((name) => name.endsWith('.test.ts') && existsSync(join(ROOT, name))),
        rule.slice(0, 40),
      ).toBe(true)
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
