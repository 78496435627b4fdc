import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { auditFormat } from '../../arguments/audit-format.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { packageVersion } from '../../process.ts'
import { toStartArguments } from '../authority/start.ts'

/** Runs `audit forward` until it is stopped; with --remove it only deletes its position. */
export async function runAuditForward(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const after = options.text('after')
  const { commands } = await import('@chancery/authority')
  if (options.isSet('remove')) {
    if (after !== undefined) throw usageError('Give --remove or --after, not both.')
    const reader = { kind: 'forwarder', name: options.textOrDefault('name') } as const
    return { exitCode: await commands.auditRemoveReader({ ...toStartArguments(context, options), ...reader }) }
  }
  const [to, file] = [options.text('to'), options.text('to-file')]
  if ((to === undefined) === (file === undefined)) throw usageError('Give --to or --to-file.')
  const exitCode = await commands.auditForward({
    ...toStartArguments(context, options),
    to: to ?? { file: file ?? '' },
    credsFile: options.text('creds'),
    caFile: options.text('ca'),
    stream: options.textOrDefault('stream'),
    subject: options.textOrDefault('subject'),
    ...(after === undefined ? {} : { after }),
    name: options.textOrDefault('name'),
    isOnce: options.isSet('once'),
    stop: context.stop(),
    format: auditFormat(options),
    version: packageVersion(),
  })
  return { exitCode }
}
