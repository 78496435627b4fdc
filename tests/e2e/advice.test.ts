import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, advised, commandOf, names, texts } from './advised-commands.ts'

/**
 * The advice of every finding of `chancery doctor`, `chancery gateway doctor` and the console: its commands exist with
 * their options, and its pages have the named section. advice-runs.test.ts runs the commands.
 */

/** What is wrong with the command that a text begins with. */
function problemOf(words: readonly string[]): string | undefined {
  const command = commandOf(words)
  if (command === undefined) return 'no such command'
  const flags = command.options.flatMap(({ flags: text }) => text.split(/[ ,]/))
  const unknown = words.filter((word) => word.startsWith('--') && !flags.includes(word) && !GENERAL.has(word))
  return unknown.length === 0 ? undefined : `no option ${unknown.join(', ')}`
}

/** Options of every command. */
const GENERAL = new Set(['--yes', '--json', '--url', '--config', '--env-file'])

/** A problem of a setting has its check from a table of patterns. */
const OF_PATTERNS = ['oidc', 'quota', 'collector']

/** Budgets have findings too, and the names of their checks and of those of approvals have an underscore. */
const WITH_UNDERSCORE = globSync('apps/authority/src/features/{findings,budgets}/*.ts', { cwd: ROOT })
  .filter((path) => !/\.(?:test|suite)\.ts$/.test(path))
  .flatMap((path) => [
    ...readFileSync(join(ROOT, path), 'utf8').matchAll(/\b(?:good|warn|bad|skipped)\(\s*'([a-z_-]+)'/g),
  ])
  .map(([, name = '']) => name)

it('names each check of a doctor in docs/operate/doctor.md, and no other', () => {
  const [page = ''] = readFileSync(join(ROOT, 'docs/operate/doctor.md'), 'utf8').split('## Watch from outside')
  const cells = [...page.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell)
  const listed = new Set(cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)))
  expect([...listed].toSorted()).toEqual([...new Set([...names, ...OF_PATTERNS, ...WITH_UNDERSCORE])].toSorted())
})

describe('the advice of a finding', () => {
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
