import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '../../packages/contract/src/index.ts'

export const ROOT = join(import.meta.dirname, '..', '..')
const FINDINGS = [
  'apps/authority/src/features/findings/*.ts',
  'apps/authority/src/features/health/*.ts',
  'apps/authority/src/commands/doctor/*.ts',
  'apps/gateway/src/**/*.ts',
  'packages/service-kit/src/**/*.ts',
]

const sources = globSync(FINDINGS, { cwd: ROOT })
  .filter((path) => !/\.(?:test|suite)\.ts$/.test(path))
  .map((path) => ({ path, source: readFileSync(join(ROOT, path), 'utf8') }))

/** The names of all checks. */
export const names = new Set(
  sources.flatMap(({ source }) =>
    [...source.matchAll(/\b(?:good|warn|bad|skipped|make)\(\s*'([a-z-]+)'/g)].map(([, name = '']) => name),
  ),
)

/** The texts of a source file, with their parameters as one word. */
function textsOf(source: string): readonly string[] {
  return [...source.matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`]*)`|"([^"\n]*)"/g)].map(([, ...found]) =>
    (found.find((text) => text !== undefined) ?? '').replaceAll(/\$\{[^}]*\}/g, 'X'),
  )
}

export const texts = sources.flatMap(({ path, source }) => textsOf(source).map((text) => ({ path, text })))

/** The words after a program name, up to the end of the command. */
function commandsOf(text: string): readonly string[] {
  return [...text.matchAll(/\bchancery ([a-z][a-z-]*(?: [A-Za-z-][\w-]*)*)/g)].map(([, words = '']) => words)
}

export const advised = texts.flatMap(({ path, text }) => commandsOf(text).map((command) => ({ path, command })))

/** The command that a text begins with. */
export function commandOf(words: readonly string[]): (typeof COMMANDS)[number] | undefined {
  return COMMANDS.filter(({ path }) => path.every((word, at) => words[at] === word)).toSorted(
    (a, b) => b.path.length - a.path.length,
  )[0]
}
