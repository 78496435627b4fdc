import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GLOBAL_OPTIONS } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { ROOT, advised, commandOf, names, texts } from './advised-commands.ts'

/**
 * The advice of every finding of `chancery doctor`, `chancery doctor` and the console: its commands exist with
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
const GENERAL = new Set(GLOBAL_OPTIONS.map(({ flags }) => flags.split(' ')[0]))

/** A problem of a setting has its check from a table of patterns. */
const OF_PATTERNS = ['oidc', 'quota', 'collector']

it('names each check of a doctor in docs/operate/doctor.md, and no other', () => {
  const [page = ''] = readFileSync(join(ROOT, 'docs/operate/doctor.md'), 'utf8').split('## Watch from outside')
  const cells = [...page.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell)
  const listed = new Set(cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)))
  expect([...listed].toSorted()).toEqual([...names, ...OF_PATTERNS].toSorted())
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
