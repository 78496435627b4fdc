import { globSync, readFileSync } from 'node:fs'
import { basename, join, matchesGlob } from 'node:path'
import { parseArgs } from 'node:util'
import { Visitor, parseSync } from 'rolldown/utils'
import words from './words.json' with { type: 'json' }

/**
 * `node tools/check/check-words.ts [PATH…]`: fails on words of words.json in Markdown and in comments, strings and
 * markup of TypeScript. Without a path it checks the files that match a pattern of `checked`. The words of `ask` are
 * ordinary English in some sentences, so they are counted and never fail; `--ask` prints where they are.
 */

export interface Rule {
  /** Regular expression for whole words, without regard to case. */
  readonly word: string
  readonly use: string
}

export interface WordList {
  readonly never: readonly Rule[]
  readonly ask: readonly Rule[]
  /** Texts that are not checked; `files` limits an exception to one pattern of files. */
  readonly exceptions: readonly { readonly text: string; readonly reason: string; readonly files?: string }[]
}

export interface WordFinding {
  readonly file: string
  readonly line: number
  readonly word: string
  readonly use: string
  readonly kind: 'never' | 'ask'
}

interface TextPart {
  readonly start: number
  readonly text: string
}

const ROOT = join(import.meta.dirname, '..', '..')
const FILES = '{*,{docs,site,examples,deploy,packages,apps,tests,tools,bench}/**/*}.{md,ts,tsx,mjs}'
const IGNORED = new Set(['node_modules', 'dist', 'fixtures', '.astro'])

/** Returns the words of `list` in one text, in the order of lines. */
export function findWords(file: string, text: string, list: WordList = words): readonly WordFinding[] {
  const exceptions = list.exceptions.filter(({ files }) => files === undefined || matchesGlob(file, files))
  const parts = file.endsWith('.md') ? [{ start: 0, text }] : readSourceParts(file, text)
  const matchers = [createMatcher(list.never, 'never'), createMatcher(list.ask, 'ask')]
  const lineOf = lineCounter(text)
  return parts
    .flatMap((part) => {
      const prose = blankExceptions(blankCode(part.text), exceptions)
      const found = matchers.flatMap((match) => match(prose))
      return found.map(({ index, ...rest }) => ({ file, line: lineOf(part.start + index), ...rest }))
    })
    .toSorted((a, b) => a.line - b.line)
}

/** Makes a search for all rules of one kind at once. */
function createMatcher(
  rules: readonly Rule[],
  kind: WordFinding['kind'],
): (text: string) => readonly (Omit<WordFinding, 'file' | 'line'> & { readonly index: number })[] {
  if (rules.length === 0) return () => []
  const all = rules.map(({ word }) => word).join('|')
  // A word of a name such as `kept_days` or `kept-days.md` is not a word of a sentence.
  const pattern = new RegExp(`(?<![\\w/-])(?:${all})(?![\\w/]|-\\w|\\.\\w)`, 'gi')
  return (text) =>
    [...text.matchAll(pattern)].map(({ index, 0: word }) => {
      const rule = rules.find((each) => new RegExp(`^(?:${each.word})$`, 'i').test(word))
      return { index, word, use: rule?.use ?? '', kind }
    })
}

/**
 * Replaces code spans and link targets, which are names, by blanks of the same length. Blocks of program output (`text`
 * and `json`) repeat strings of the sources, where they are checked.
 */
function blankCode(text: string): string {
  return text.replaceAll(/^```(?:text|json)\n[^]*?^```$|`[^`\n]+`|\]\([^)\n]*\)/gm, (code) =>
    code.replaceAll(/[^\n]/g, ' '),
  )
}

function blankExceptions(text: string, exceptions: WordList['exceptions']): string {
  let prose = text
  for (const exception of exceptions) {
    prose = prose.replaceAll(new RegExp(exception.text, 'gi'), (found) => ' '.repeat(found.length))
  }
  return prose
}

/** Returns comments, strings with a space (one word alone is a name), templates and markup text of a source file. */
function readSourceParts(file: string, text: string): readonly TextPart[] {
  const { program, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`Cannot parse ${file}: ${errors[0]?.message}`)
  const parts: TextPart[] = comments.map(({ start, value }) => ({ start: start + 2, text: value }))
  const add = ({ start, end }: { readonly start: number; readonly end: number }): void => {
    const raw = text.slice(start, end)
    if (raw.includes(' ')) parts.push({ start, text: raw.replaceAll('`', ' ') })
  }
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === 'string') add(node)
    },
    TemplateElement: add,
    JSXText: add,
  }).visit(program)
  return parts
}

function lineCounter(text: string): (index: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  return (index) => starts.findLastIndex((start) => start <= index) + 1
}

/** Returns every file that has text to check. */
export function listFiles(root: string = ROOT): readonly string[] {
  return globSync(FILES, { cwd: root, exclude: (path) => IGNORED.has(basename(path)) }).toSorted()
}

/** Returns the files that a pattern or path selects. */
export function selectFiles(patterns: readonly string[], files: readonly string[] = listFiles()): readonly string[] {
  return files.filter((file) =>
    patterns.some((pattern) => matchesGlob(file, pattern) || file.startsWith(`${pattern}/`)),
  )
}

function main(): number {
  const { values, positionals } = parseArgs({ options: { ask: { type: 'boolean' } }, allowPositionals: true })
  const files = selectFiles(positionals.length > 0 ? positionals : words.checked)
  const findings = files.flatMap((file) => findWords(file, readFileSync(join(ROOT, file), 'utf8')))
  const never = findings.filter(({ kind }) => kind === 'never')
  const ask = findings.filter(({ kind }) => kind === 'ask')
  for (const { file, line, word, use } of values.ask ? findings : never) {
    console.log(`${file}:${line}  ${word}  → ${use}`)
  }
  const counts = Object.entries(Object.groupBy(ask, ({ word }) => word.toLowerCase()))
    .map(([word, found]) => [word, found?.length ?? 0] as const)
    .toSorted((a, b) => b[1] - a[1])
  console.log(`to read with care (--ask): ${counts.map(([word, count]) => `${word} ${count}`).join(', ')}`)
  console.log(`${files.length} files, ${never.length} words of the never list`)
  if (never.length > 0)
    console.log('A name or a defined term is added to "exceptions" of tools/check/words.json, with its reason.')
  return never.length === 0 ? 0 : 1
}

if (import.meta.main) process.exitCode = main()
