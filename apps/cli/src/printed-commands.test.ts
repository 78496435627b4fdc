import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS, GLOBAL_OPTIONS } from '@chancery/contract'
import { expect, it } from 'vitest'

/**
 * Every command in a text that a program prints exists, and has the options that the text names. hints.slow.test.ts and
 * the tests of the commands run those that an output completes with names and files.
 */

const ROOT = join(import.meta.dirname, '../../..')
const PRINTED = /(?<![\w/.@'-])chancery (?=[a-z])((?:[^`'",;()<»]|<(?!\/))*)/g
const PATHS = new Map(COMMANDS.map((command) => [command.path.join(' '), command]))
/** Prose, and names that the program computes. */
const NO_COMMAND = /^(?:commands for|help |\S+ \$\{)/

/** The problem of one printed command, which ends with its sentence. */
function problemOf(text: string): string | undefined {
  const words = (text.split(/[.:?](?:\s|$)/)[0] ?? '').trim().split(/\s+/)
  const command = [3, 2, 1].flatMap((length) => PATHS.get(words.slice(0, length).join(' ')) ?? [])[0]
  if (command === undefined) return NO_COMMAND.test(text) ? undefined : 'no command'
  const options = [...GLOBAL_OPTIONS, ...command.options, { flags: '--help' }]
  const known = options.flatMap(({ flags }) => /--[a-z-]+/.exec(flags) ?? [])
  const unknown = words.flatMap((word) => /^--[a-z-]+/.exec(word) ?? []).filter((flag) => !known.includes(flag))
  return unknown.length === 0 ? undefined : `no option ${unknown.join(', ')}`
}

it('every printed command exists, with its options', () => {
  const files = globSync('{apps/*,packages/contract}/src/**/*.{ts,tsx}', { cwd: ROOT }).filter(
    (file) => !/\.(?:test|suite)\.tsx?$/.test(file),
  )
  const printed = files.flatMap((file) => {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
    const text = lines.filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line)).map((line) => line.trim())
    return [...text.join(' ').matchAll(PRINTED)].map(([, command = '']) => ({ file, text: command }))
  })
  expect(printed.length).toBeGreaterThan(200)
  const problems = printed.flatMap(({ file, text }) => {
    const problem = problemOf(text)
    return problem === undefined ? [] : [`${file}: chancery ${text}: ${problem}`]
  })
  expect(problems).toEqual([])
})

it.each([
  ['nodez --json', 'no command'],
  ['gateway', 'no command'],
  ['node list --jsn.', 'no option --jsn'],
  ['operator add <key_id> --tier privileged. Or add --force.', undefined],
])('chancery %s: %s', (text, problem) => {
  expect(problemOf(text)).toBe(problem)
})
