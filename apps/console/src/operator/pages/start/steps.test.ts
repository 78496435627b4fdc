import { COMMANDS } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { type Said, type SaidStep, listSteps } from './steps.ts'

const NOTHING = {
  invite_made: false,
  node_joined: false,
  policy_active: false,
  partner_added: false,
  usable_operator_keys: 1,
  backup_at: null,
}
const ALL = {
  invite_made: true,
  node_joined: true,
  policy_active: true,
  partner_added: true,
  usable_operator_keys: 2,
  backup_at: '2026-01-01T00:00:00Z',
}
const done = (facts: typeof NOTHING | typeof ALL, said: Partial<Record<SaidStep, Said>> = {}): readonly string[] =>
  listSteps(facts, (step) => said[step]).flatMap(({ name, isDone }) => (isDone ? [name] : []))

describe('the first steps', () => {
  it('are open in a new network, apart from the two that were needed to see them', () => {
    expect(done(NOTHING)).toEqual(['founded', 'signed-in'])
  })

  it.each([
    ['invite', { invite_made: true }],
    ['join', { node_joined: true }],
    ['operator', { usable_operator_keys: 2 }],
    ['policy', { policy_active: true }],
    ['partner', { partner_added: true }],
    ['backup', { backup_at: '2026-01-01T00:00:00Z' }],
  ])('%s is ticked by its fact alone', (name, fact) => {
    expect(done({ ...NOTHING, ...fact })).toEqual(['founded', 'signed-in', name])
  })

  it('asks the operator only for what the authority cannot see', () => {
    const said = { 'root-key': 'done', gateway: 'skipped', watch: 'done' } as const
    expect(done(ALL)).not.toEqual(expect.arrayContaining(['gateway']))
    expect(done(NOTHING, said)).toEqual(['founded', 'signed-in', 'root-key', 'gateway', 'watch'])
    expect(done(ALL, said)).toHaveLength(listSteps(ALL).length)
  })

  it('each open step has an action, a command or a question, and the join waits for the invite', () => {
    for (const { isDone, action, command, says, name } of listSteps(NOTHING, () => undefined))
      if (!isDone) expect(action ?? command ?? says, name).toBeDefined()
    expect(listSteps(NOTHING, () => undefined).find(({ name }) => name === 'join')?.waits).toBe('after the invite')
  })

  it('name commands and flags that exist, with every required one', () => {
    for (const { command } of listSteps(NOTHING, () => undefined)) {
      if (command === undefined) continue
      const words = command.split(' ').slice(1)
      const found = COMMANDS.filter(({ path }) => path.every((word, at) => words[at] === word))
      const exact = found.toSorted((a, b) => b.path.length - a.path.length)[0]
      const flags = words.filter((word) => word.startsWith('--'))
      const known = exact?.options.map(({ flags: text }) => text.split(' ')[0]) ?? []
      const required = exact?.options.filter((option) => option.required === true).map((option) => option.flags)
      expect(exact, command).toBeDefined()
      expect(
        flags.filter((flag) => !known.includes(flag)),
        command,
      ).toEqual([])
      for (const flag of required ?? []) expect(flags, command).toContain(flag.split(' ')[0])
      const needed = exact?.arguments.filter((argument) => argument.required).length ?? 0
      expect(words.length - (exact?.path.length ?? 0) - flags.length * 2, command).toBeGreaterThanOrEqual(needed)
    }
  })
})
