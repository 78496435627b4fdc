import { describe, expect, it } from 'vitest'
import { type Command, GLOBAL_OPTIONS, PROGRAM_NAME } from './command.ts'
import { COMMAND_GROUPS } from './groups.ts'
import { commandsOf } from './by-word.ts'
import { COMMANDS } from './index.ts'

function named(path: string): Command | undefined {
  return COMMANDS.find((command) => command.path.join(' ') === path)
}

function flagsOf(options: Command['options']): string[] {
  return options.map((option) => option.flags.split(' ')[0] ?? '')
}

describe('commands', () => {
  it('are the same when only those of one word are loaded', async () => {
    for (const word of new Set(COMMANDS.map(({ path }) => path[0])))
      expect(await commandsOf(word), word).toEqual(COMMANDS.filter(({ path }) => path[0] === word))
    expect(await commandsOf('asc')).toBe(COMMANDS)
    expect(await commandsOf(undefined)).toBe(COMMANDS)
  })

  it('let every command that takes trust away be tried first', () => {
    const names = [
      'revoke',
      'invite withdraw',
      'operator revoke',
      'attestation revoke',
      'treaty replace',
      'treaty revoke',
    ]
    for (const name of names)
      expect(flagsOf(named(name)?.options ?? []), name).toEqual(expect.arrayContaining(['--dry-run', '--yes']))
  })

  it('speak for a node where its home is named', () => {
    const ofNodes = COMMANDS.filter((command) => command.needs === 'node')
    for (const { path, options } of ofNodes) expect(flagsOf(options), path.join(' ')).toContain('--home')
  })

  it('take many words only in last place', () => {
    for (const { path, arguments: words } of COMMANDS)
      expect(
        words.slice(0, -1).filter((word) => word.variadic),
        path.join(' '),
      ).toEqual([])
  })

  it('write flags in one form and never twice, global ones included', () => {
    for (const command of COMMANDS) {
      const options = [...GLOBAL_OPTIONS, ...command.options]
      for (const option of options) expect(option.flags, option.flags).toMatch(/^--[a-z]+(-[a-z]+)*( <[^<>]+>)?$/)
      expect(new Set(flagsOf(options)).size, command.path.join(' ')).toBe(options.length)
    }
  })

  it('never make a switch required, nor give one a default', () => {
    for (const option of COMMANDS.flatMap((command) => command.options)) {
      if (option.flags.includes(' ')) continue
      expect(option, option.flags).not.toHaveProperty('required')
      expect(option, option.flags).not.toHaveProperty('default')
    }
  })

  it('have imperative summaries under 60 characters without a full stop, and at most three sentences of description', () => {
    for (const { path, summary, description } of COMMANDS) {
      expect(summary, path.join(' ')).toMatch(/^[A-Z][^.]{1,58}$/)
      expect(description, path.join(' ')).toMatch(/^[A-Z].*\.$/)
      expect(description.split(/\. (?=[A-Z])/).length, path.join(' ')).toBeLessThanOrEqual(3)
    }
  })

  it('have a description of every word that groups commands, in the same form', () => {
    const paths = new Set(COMMANDS.map(({ path }) => path.join(' ')))
    const words = COMMANDS.flatMap(({ path }) => path.slice(0, -1).map((_word, at) => path.slice(0, at + 1).join(' ')))
    const groups = [...new Set(words)].filter((word) => !paths.has(word)).sort()
    expect(Object.keys(COMMAND_GROUPS).sort(), 'a word that groups commands needs a line in groups.ts').toEqual(groups)
    for (const summary of Object.values(COMMAND_GROUPS)) expect(summary).toMatch(/^[A-Z][^.]{1,58}$/)
  })

  it('describe options, arguments and examples without a full stop', () => {
    const texts = COMMANDS.flatMap((command) => [...command.options, ...command.arguments, ...command.examples])
    for (const { summary } of [...GLOBAL_OPTIONS, ...texts]) expect(summary).not.toMatch(/\.$/)
  })

  it('show examples that use the command, its required options and no flag that does not exist', () => {
    for (const command of COMMANDS) {
      const known = [...flagsOf(GLOBAL_OPTIONS), ...flagsOf(command.options)]
      const required = flagsOf(command.options.filter((option) => option.required))
      for (const { line } of command.examples) {
        expect(line.startsWith([PROGRAM_NAME, ...command.path].join(' ')), line).toBe(true)
        // Words after `--` are a command of another program.
        const own = line.split(' -- ')[0] ?? ''
        const used = own.split(' ').filter((word) => word.startsWith('--'))
        expect(known, line).toEqual(expect.arrayContaining(used))
        expect(used, line).toEqual(expect.arrayContaining(required))
      }
    }
  })
})
