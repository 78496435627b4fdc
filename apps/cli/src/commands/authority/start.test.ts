import { COMMANDS, GLOBAL_OPTIONS } from '@chancery/contract'
import { expect, it } from 'vitest'
import { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { toStartArguments } from './start.ts'

const command = COMMANDS.find(({ path }) => path.join(' ') === 'authority start')
if (command === undefined) throw new Error('no such command')
// Without --home nothing else is read.
const context = { command } as CommandContext

function given(values: Record<string, string | boolean | readonly string[]>): Options {
  return new Options(new Map(Object.entries(values)), [...GLOBAL_OPTIONS, ...(command?.options ?? [])])
}

it('passes on what was written and no default', async () => {
  expect(await toStartArguments(context, given({}))).toEqual({ flags: {} })
})

it('passes flags with their dashes, repeated ones as a list, and the settings file apart', async () => {
  const options = given({ port: '9000', 'operator-public-key': ['a=1', 'b=2'], 'env-file': 'na.env' })
  expect(await toStartArguments(context, options)).toEqual({
    flags: { '--port': '9000', '--operator-public-key': ['a=1', 'b=2'] },
    envFile: 'na.env',
  })
})

it('keeps the options of the program to itself', async () => {
  expect(await toStartArguments(context, given({ json: true, url: 'http://na', quiet: true }))).toEqual({ flags: {} })
})
