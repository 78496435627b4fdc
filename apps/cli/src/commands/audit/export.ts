import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { refuseExisting } from '../../files/files.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
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

/** Runs `audit export`: reads the database on the authority's machine; there is no route for it. */
export async function runAuditExport(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const [after, out, limit] = [options.text('after'), options.text('out'), wholeNumber(options, 'limit', 1, 1e12)]
  const name = options.text('name')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const { commands } = await import('@chancery/authority')
  if (options.isSet('remove')) {
    if (name === undefined || out !== undefined)
      throw usageError('Give --remove together with --name and without --out.')
    const reader = { kind: 'export', name } as const
    return { exitCode: await commands.auditRemoveReader({ ...toStartArguments(context, options), ...reader }) }
  }
  const exitCode = await commands.auditExport({
    ...toStartArguments(context, options),
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
    ...(file === undefined ? {} : { out: file }),
    ...(name === undefined ? {} : { name }),
    format: auditFormat(options),
    version: packageVersion(),
  })
  return { exitCode }
}
