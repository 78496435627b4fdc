import { describe, expect, it } from 'vitest'
import { type Command, GLOBAL_OPTIONS, PROGRAM_NAME } from './command.ts'
import { COMMAND_GROUPS, ROOT_HEADINGS } from './groups.ts'
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
      'node revoke',
      'invite withdraw',
      'operator revoke',
      'attestation revoke',
      'treaty renew',
      'treaty revoke',
      'partner remove',
    ]
    for (const name of names)
      expect(flagsOf(named(name)?.options ?? []), name).toEqual(expect.arrayContaining(['--dry-run', '--yes']))
  })

  it('are few: with those that other work adds at most 125 in 17 groups', () => {
    expect(COMMANDS.length).toBeLessThanOrEqual(125)
    expect(Object.keys(COMMAND_GROUPS).length).toBeLessThanOrEqual(17)
    expect(COMMANDS.length).toBe(new Set(COMMANDS.map(({ path }) => path.join(' '))).size)
    const words = COMMANDS.map(({ path }) => path.length)
    expect(Math.max(...words)).toBeLessThanOrEqual(3)
  })

  it('have at most two arguments, except where the last takes many', () => {
    for (const { path, arguments: words } of COMMANDS) expect(words.length, path.join(' ')).toBeLessThanOrEqual(2)
  })

  it('take no secret as a value', () => {
    const flags = COMMANDS.flatMap(({ options }) => options.map((option) => option.flags))
    expect(flags.filter((each) => /^--(?:token|secret|password|passphrase)\b(?!-)/.test(each))).toEqual([])
  })

  it('spell an option as all others do', () => {
    const former =
      /^--(?:to|save|sheet|history-out|now|before|validity-hours|valid-hours|valid-days|max-validity-hours|token-days|lifetime-seconds|token-expiry-hours|refresh-seconds|older-than-days|cursor|issuer-key|anchors|node-key|public-key|recipient|accept-self-declared-root|config|env-file|exact-times|operator-key-id)\b(?!-)/
    const found = COMMANDS.flatMap(({ path, options }) =>
      options.filter(({ flags }) => former.test(flags)).map(({ flags }) => `${path.join(' ')} ${flags}`),
    )
    // Units and containers start services with --env-file; recover reads two things; enable reads a file of the policy.
    expect(found).toEqual([
      'authority start --env-file <file>',
      'authority recover --anchors <folder>',
      'gateway start --env-file <file>',
      'gateway enable --config <file>',
    ])
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

  it('have a place in the help: every first word once, and every command of a group under a heading', () => {
    const first = [...new Set(COMMANDS.map(({ path }) => path[0]))]
    const shown = ROOT_HEADINGS.flatMap(([, words]) => words.split(' '))
    expect(shown.toSorted()).toEqual([...first, 'help'].toSorted())
    const groups = first.filter((word) => COMMANDS.some(({ path }) => path[0] === word && path.length > 1))
    expect(Object.keys(COMMAND_GROUPS).toSorted()).toEqual(groups.toSorted())
    for (const [word, { summary, headings }] of Object.entries(COMMAND_GROUPS)) {
      expect(summary).toMatch(/^[A-Z][^.]{1,58}$/)
      const named = headings.flatMap(([, names]) => names.split(', ').map((name) => `${word} ${name}`))
      const all = COMMANDS.filter(({ path }) => path[0] === word).map(({ path }) => path.join(' '))
      expect(named.toSorted(), word).toEqual(all.toSorted())
    }
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
