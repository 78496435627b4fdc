import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * docs/reference/client-library.md: what the library exports, taken from the declarations the compiler emits. Comments
 * and types are copied from the sources.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const DIST = join(ROOT, 'packages', 'sdk', 'dist')

const ENTRIES = [
  ['@chancery/sdk', 'index.d.ts', 'Runs in Node.js from 22.13, browsers, Bun, Deno and workerd.'],
  ['@chancery/sdk/authority', 'authority/index.d.ts', 'Every route of an authority.'],
  ['@chancery/sdk/gateway', 'gateway/index.d.ts', 'A gateway, and AuthZEN.'],
  ['@chancery/sdk/verify', 'verify/index.d.ts', 'Verification alone.'],
  ['@chancery/sdk/evidence', 'evidence/index.d.ts', 'Packs, bundles, receipts, exports and past states.'],
  ['@chancery/sdk/nodejs', 'nodejs/index.d.ts', 'What needs files or servers of Node.js.'],
  ['@chancery/sdk/express', 'servers/express.d.ts', 'Middleware for Express.'],
  ['@chancery/sdk/fastify', 'servers/fastify.d.ts', 'A plugin and a hook for Fastify.'],
  ['@chancery/sdk/hono', 'servers/hono.d.ts', 'Middleware for Hono.'],
  ['@chancery/sdk/web', 'servers/web.d.ts', 'For servers with fetch handlers.'],
  ['@chancery/sdk/mcp', 'mcp/index.d.ts', 'For clients and servers of the Model Context Protocol.'],
  ['@chancery/sdk/ai-sdk', 'frameworks/ai-sdk.d.ts', 'Tools of the AI SDK.'],
  ['@chancery/sdk/langchain', 'frameworks/langchain.d.ts', 'Tools of LangChain.'],
  ['@chancery/sdk/platform', 'nodejs/platform/index.d.ts', 'Tokens of platforms for a join without an invite.'],
  [
    '@chancery/sdk/a2a',
    'a2a/index.d.ts',
    'Agent cards of A2A 1.0: signed by a node, verified by certificate and list.',
  ],
  ['@chancery/sdk/wimse', 'wimse/index.d.ts', 'The profile of WIMSE. Beta.'],
  ['@chancery/sdk/protocol', 'protocol/index.d.ts', 'For programs that speak the protocol themselves.'],
  ['@chancery/sdk/compat', 'compat/index.d.ts', 'The names that code for other libraries of the protocol knows.'],
] as const

interface Exported {
  readonly name: string
  /** Below dist, or a package. */
  readonly from: string
  /** `export * as name`: it contains all exports of the file. */
  readonly isSpace?: true
}

interface Declaration {
  readonly file: string
  readonly text: string
}

export function clientLibraryPage(): string {
  // Compiles only changed files.
  execFileSync('tsc', ['-b', 'packages/sdk'], { cwd: ROOT, stdio: 'inherit' })
  const shown = new Set<string>()
  const sections = ENTRIES.map(([name, file, note]) => entrySection(name, file, note, shown))
  return [
    '# Client library',
    '',
    'Generated from the declarations of `packages/sdk` by `npm run generate`. How the parts fit together: [client-library.md](../client-library.md).',
    ...sections,
    '',
  ].join('\n')
}

function entrySection(name: string, file: string, note: string, shown: Set<string>): string {
  const byFile = new Map<string, string[]>()
  const elsewhere: string[] = []
  for (const { name: each, from, isSpace } of exportsOf(file)) {
    const find = isSpace === true ? spaceOf : declarationOf
    const found = from.startsWith('@') ? undefined : find(from, each)
    if (found === undefined) elsewhere.push(`\`${each}\` (${from})`)
    else if (!shown.has(`${found.file} ${each}`)) {
      shown.add(`${found.file} ${each}`)
      byFile.set(found.file, [...(byFile.get(found.file) ?? []), found.text])
    }
  }
  const blocks = [...byFile].map(([from, texts]) =>
    ['', `### ${from.replace('.d.ts', '')}`, '', '```ts', texts.join('\n\n'), '```'].join('\n'),
  )
  const passedOn = elsewhere.length === 0 ? [] : ['', `Passed on from other packages: ${elsewhere.join(', ')}.`]
  return ['', `## ${name}`, '', note, ...blocks, ...passedOn].join('\n')
}

const NAMED = /^export (?:type )?\{([^}]*)\} from '([^']+)';/gm
const ALL = /^export \* from '([^']+)';/gm
const SPACE = /^export \* as (\w+) from '([^']+)';/gm

/** In the order of the file; `export *` is followed, since its names are what a reader looks for. */
function exportsOf(file: string): readonly Exported[] {
  const text = readFileSync(join(DIST, file), 'utf8')
  const named = [...text.matchAll(NAMED)].flatMap(([, names = '', from = '']) =>
    namesOf(names).map((name) => ({ name, from: place(file, from) })),
  )
  const all = [...text.matchAll(ALL)].flatMap(([, from = '']) => {
    const target = place(file, from)
    return [...exportsOf(target), ...declaredIn(target).map((name) => ({ name, from: target }))]
  })
  const spaces = [...text.matchAll(SPACE)].map(([, name = '', from = '']) => ({
    name,
    from: place(file, from),
    isSpace: true as const,
  }))
  const own = named.length === 0 ? [] : declaredIn(file).map((name) => ({ name, from: file }))
  return [...named.filter(({ name }) => name !== ''), ...own, ...all, ...spaces]
}

function namesOf(list: string): readonly string[] {
  return list.split(',').map((each) => each.trim().replace(/^type /, ''))
}

function place(file: string, from: string): string {
  return from.startsWith('.') ? join(dirname(file), from.replace(/\.ts$/, '.d.ts')) : from
}

const DECLARED = /^export (?:declare )?(?:abstract )?(?:interface|type|class|function|const) (\w+)/gm

function declaredIn(file: string): readonly string[] {
  return [...readFileSync(join(DIST, file), 'utf8').matchAll(DECLARED)].map(([, name = '']) => name)
}

/** Every declaration of a name with the comment above it: an overloaded function has several. */
function declarationOf(file: string, name: string): Declaration | undefined {
  const text = readFileSync(join(DIST, file), 'utf8')
  const start = new RegExp(
    `^(?:/\\*\\*(?:(?!\\*/)[^])*\\*/\\n)?export (?:declare )?(?:abstract )?(interface|type|class|function|const) ${name}\\b`,
    'gm',
  )
  const found = [...text.matchAll(start)].map((match) =>
    text.slice(match.index, endOf(text, match.index + match[0].length, match[1] ?? '')),
  )
  if (found.length > 0) return { file, text: found.map(tidy).join('\n') }
  // Passed on from another file.
  const [, , from] = [...text.matchAll(NAMED)].find(([, names = '']) => namesOf(names).includes(name)) ?? []
  return from?.startsWith('.') === true ? declarationOf(place(file, from), name) : undefined
}

/** A namespace contains all exports of a file: `schedule.renewalTime`. */
function spaceOf(file: string, name: string): Declaration {
  const texts = declaredIn(file).map((each) => declarationOf(file, each)?.text ?? '')
  return { file, text: `// as ${name}\n${texts.join('\n')}` }
}

/** Returns the end of the declaration that is open at this position. Only these two kinds end without a semicolon. */
export function endOf(text: string, from: number, kind: string): number {
  const endsWithBrace = kind === 'interface' || kind === 'class'
  let depth = 0
  for (let at = from; at < text.length; at += 1) {
    if (text.startsWith('/**', at)) at = text.indexOf('*/', at) + 1
    const sign = text.charAt(at)
    if (sign === "'" || sign === '`') at = text.indexOf(sign, at + 1)
    else if ('{(['.includes(sign)) depth += 1
    else if ('})]'.includes(sign)) {
      depth -= 1
      if (endsWithBrace && depth === 0 && sign === '}') return at + 1
    } else if (sign === ';' && depth === 0) return at + 1
  }
  return text.length
}

/** As in the sources: no private members, two spaces. */
function tidy(text: string): string {
  return text
    .replaceAll(/^ +(?:#private;|private .*\n?)$/gm, '')
    .replaceAll(/^export (?:declare )?/gm, '')
    .replaceAll(/^( {4})+/gm, (spaces) => spaces.slice(spaces.length / 2))
    .replaceAll(/\n{2,}/g, '\n')
}
