import { resolve } from 'node:path'
import type { CommandContext, Result } from '../../context.ts'
import { refuseExisting } from '../../files.ts'
import type { Arguments, Options } from '../../options.ts'
import { toStartArguments } from './start.ts'

/** authority key-succession: with the settings of the new key, while no instance runs. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const given = options.text('first-list')
  const firstList = given === undefined ? undefined : resolve(context.cwd, given)
  if (firstList !== undefined) await refuseExisting([firstList])
  const { flags, ...rest } = toStartArguments(context, options)
  const { '--first-list': _own, ...settings } = flags
  const { commands } = await import('@chancery/authority')
  const args = { ...rest, flags: settings, ...(firstList === undefined ? {} : { firstList }) }
  return { exitCode: await commands.keySuccession(args) }
}
