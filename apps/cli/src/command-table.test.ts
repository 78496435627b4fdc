import { COMMANDS } from '@chancery/contract'
import { expect, it } from 'vitest'
import { COMMAND_TABLE } from './command-table.ts'

it('implements every command of the contract and no other', () => {
  const hint = 'command-table.ts has a line for each command, in the order of the contract'
  expect(Object.keys(COMMAND_TABLE), hint).toEqual(COMMANDS.map((command) => command.path.join(' ')))
})

// The authority is a heavy import and may not be needed at all: `authority start` loads it inside run.
it('loads each of them', async () => {
  for (const [name, load] of Object.entries(COMMAND_TABLE)) expect(await load(), name).toBeTypeOf('function')
})
