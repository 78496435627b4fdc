import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { refuseExisting } from '../../files/files.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
import { auditFormat } from '../../arguments/audit-format.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { packageVersion } from '../../process.ts'
import { findSettings } from '../authority/start.ts'

/** `authority audit --forward`, until it is stopped; with --remove it only deletes its position. */
async function forward(context: CommandContext, options: Options, server: string): Promise<Result> {
  const [after, name] = [options.text('after'), options.text('name') ?? 'nats']
  const settings = await findSettings(context, options)
  const { commands } = await import('@chancery/authority')
  if (options.isSet('remove')) {
    if (after !== undefined) throw usageError('Give --remove or --after, not both.')
    return { exitCode: await commands.auditRemoveReader({ ...settings, kind: 'forwarder', name }) }
  }
  const exitCode = await commands.auditForward({
    ...settings,
    // A URL with a password is in a file.
    to: /^[a-z]+:\/\//.test(server) ? server : { file: server },
    credsFile: options.text('creds'),
    caFile: options.text('ca'),
    stream: options.textOrDefault('stream'),
    subject: options.textOrDefault('subject'),
    ...(after === undefined ? {} : { after }),
    name,
    isOnce: options.isSet('once'),
    stop: context.stop(),
    format: auditFormat(options),
    version: packageVersion(),
  })
  return { exitCode }
}

const OF_FORWARDING = ['creds', 'ca', 'stream', 'subject', 'once'] as const

/** Runs `authority audit`: reads the database on the authority's machine; there is no route for it. */
export async function runAuthorityAudit(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const server = options.text('forward')
  if (server !== undefined) return forward(context, options, server)
  const unused = OF_FORWARDING.find((each) => options.isSet(each))
  if (unused !== undefined) throw usageError(`--${unused} needs --forward.`)
  const [after, out, limit] = [options.text('after'), options.text('out'), wholeNumber(options, 'limit', 1, 1e12)]
  const name = options.text('name')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const settings = await findSettings(context, options)
  const { commands } = await import('@chancery/authority')
  if (options.isSet('remove')) {
    if (name === undefined || out !== undefined)
      throw usageError('Give --remove together with --name and without --out.')
    const reader = { kind: 'export', name } as const
    return { exitCode: await commands.auditRemoveReader({ ...settings, ...reader }) }
  }
  const exitCode = await commands.auditExport({
    ...settings,
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
    ...(file === undefined ? {} : { out: file }),
    ...(name === undefined ? {} : { name }),
    format: auditFormat(options),
    version: packageVersion(),
  })
  return { exitCode }
}
