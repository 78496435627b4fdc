import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { refuseExisting } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { toStartArguments } from './start.ts'

const STEPS = ['announce', 'status', 'switch', 'retire'] as const

/** Runs `authority key-succession` with the settings of the new key. The switch needs all instances stopped. */
export async function runAuthorityKeySuccession(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const given = options.text('first-list')
  const firstList = given === undefined ? undefined : resolve(context.cwd, given)
  if (firstList !== undefined) await refuseExisting([firstList])
  const { flags, ...rest } = toStartArguments(context, options)
  const { '--first-list': _list, '--step': _step, '--yes': _yes, ...settings } = flags
  const step = STEPS.find((each) => each === options.textOrDefault('step'))
  if (step === undefined) throw usageError(`--step is one of ${STEPS.join(', ')}.`)
  const { commands } = await import('@chancery/authority')
  const isForced = options.isSet('yes')
  const args = { ...rest, flags: settings, step, isForced, ...(firstList === undefined ? {} : { firstList }) }
  return { exitCode: await commands.keySuccession(args) }
}
