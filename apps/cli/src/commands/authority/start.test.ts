import { COMMANDS, GLOBAL_OPTIONS } from '@chancery/contract'
import { expect, it } from 'vitest'
import { Options } from '../../arguments/options.ts'
import { toStartArguments } from './start.ts'

const command = COMMANDS.find(({ path }) => path.join(' ') === 'authority start')
if (command === undefined) throw new Error('no such command')

function given(values: Record<string, string | boolean | readonly string[]>): Options {
  return new Options(new Map(Object.entries(values)), [...GLOBAL_OPTIONS, ...(command?.options ?? [])])
}

it('passes on what was written and no default', () => {
  expect(toStartArguments({ command }, given({}))).toEqual({ flags: {} })
})

it('passes flags with their dashes, repeated ones as a list, and the settings file apart', () => {
  const options = given({ port: '9000', 'operator-public-key': ['a=1', 'b=2'], 'env-file': 'na.env' })
  expect(toStartArguments({ command }, options)).toEqual({
    flags: { '--port': '9000', '--operator-public-key': ['a=1', 'b=2'] },
    envFile: 'na.env',
  })
})

it('keeps the options of the program to itself', () => {
  expect(toStartArguments({ command }, given({ json: true, url: 'http://na', quiet: true }))).toEqual({ flags: {} })
})
