import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../packages/contract/src/index.ts'

/**
 * The advice of every finding of `chancery doctor`, `chancery gateway doctor` and the console: its commands exist with
 * their options, and its pages have the named section.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const FINDINGS = [
  'apps/authority/src/features/findings/*.ts',
  'apps/authority/src/features/health/*.ts',
  'apps/authority/src/commands/doctor/*.ts',
  'apps/gateway/src/**/*.ts',
  'packages/service-kit/src/**/*.ts',
]

/** The texts of a source file, with their parameters as one word. */
function textsOf(path: string): readonly string[] {
  const source = readFileSync(join(ROOT, path), 'utf8')
  return [...source.matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`]*)`|"([^"\n]*)"/g)].map(([, ...found]) =>
    (found.find((text) => text !== undefined) ?? '').replaceAll(/\$\{[^}]*\}/g, 'X'),
  )
}

const texts = globSync(FINDINGS, { cwd: ROOT })
  .filter((path) => !/\.(?:test|suite)\.ts$/.test(path))
  .flatMap((path) => textsOf(path).map((text) => ({ path, text })))

/** The words after a program name, up to the end of the command. */
function commandsOf(text: string): readonly string[] {
  return [...text.matchAll(/\bchancery ([a-z][a-z-]*(?: [A-Za-z-][\w-]*)*)/g)].map(([, words = '']) => words)
}

/** What is wrong with the command that a text begins with. */
function problemOf(words: readonly string[]): string | undefined {
  const command = COMMANDS.filter(({ path }) => path.every((word, at) => words[at] === word)).toSorted(
    (a, b) => b.path.length - a.path.length,
  )[0]
  if (command === undefined) return 'no such command'
  const flags = command.options.flatMap(({ flags: text }) => text.split(/[ ,]/))
  const unknown = words.filter((word) => word.startsWith('--') && !flags.includes(word) && !GENERAL.has(word))
  return unknown.length === 0 ? undefined : `no option ${unknown.join(', ')}`
}

/** Options of every command. */
const GENERAL = new Set(['--yes', '--json', '--url', '--config', '--env-file'])

describe('the advice of a finding', () => {
  const advised = texts.flatMap(({ path, text }) => commandsOf(text).map((command) => ({ path, command })))

  it('names commands that exist, with their options', () => {
    expect(advised.length).toBeGreaterThan(20)
    const wrong = advised.flatMap(({ path, command }) => {
      const problem = problemOf(command.split(' '))
      return problem === undefined ? [] : [`${path}: chancery ${command}: ${problem}`]
    })
    expect(wrong).toEqual([])
  })

  it('names pages and sections that exist', () => {
    const pages = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)].map(([, page = '', section]) => ({
        path,
        page,
        section,
      })),
    )
    expect(pages.length).toBeGreaterThan(20)
    const wrong = pages.filter(({ page, section }) => {
      const headings = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
        text
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      )
      return section !== undefined && !headings.includes(section)
    })
    expect(wrong).toEqual([])
  })
})
