import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findSettingsFile } from '../../connection/target.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { resolve } from 'node:path'
import { auditFormat } from '../../arguments/audit-format.ts'
import { timeSpan } from '../../arguments/time-span.ts'

const load = () => import('@chancery/gateway')

export type Commands = Awaited<ReturnType<typeof load>>['commands']
type Settings = Awaited<ReturnType<Commands['loadSettings']>>

/** Loads the gateway and its settings for one of its tools. Errors that an operator can fix become a CommandError. */
export async function withGateway<Value>(
  context: CommandContext,
  options: Options,
  use: (commands: Commands, settings: Settings) => Promise<Value>,
): Promise<Value> {
  const file = await findSettingsFile(context, options, 'gateway.env')
  const { commands } = await load()
  try {
    return await use(commands, await commands.loadSettings(file))
  } catch (error) {
    throw toToolError(error, commands)
  }
}

/** Returns a CommandError for an error that the gateway explains, one problem per line; any other error unchanged. */
export function toToolError(error: unknown, { expectedLines }: Pick<Commands, 'expectedLines'>): unknown {
  const [message, ...problems] = expectedLines(error) ?? []
  if (message === undefined) return error
  return new CommandError({ code: 'gateway_tool_failed', message, problems }, { cause: error })
}

/** Runs `gateway backup`: a consistent copy of the state. */
export async function runGatewayBackup(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const out = resolve(context.cwd, options.required('out'))
  return withGateway(context, options, ({ state }, settings) => state.backup(settings, out))
}

/** Verifies a state file or a backup, with saved minimum sequences. */
export async function verifyGatewayState(context: CommandContext, file: string, options: Options): Promise<Result> {
  const floors = options.text('floors')
  const at = (name: string): string => resolve(context.cwd, name)
  return withGateway(context, options, ({ state }, settings) =>
    state.verify(settings, { file: at(file), floorsFile: floors === undefined ? undefined : at(floors) }),
  )
}

/** Runs `gateway network clear`: overrides after a person found the cause. Each has a reason for the audit log. */
export async function runGatewayClear(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [network, reason] = [args.required('network'), options.required('reason')]
  const [suspect, certificateId, given] = [options.text('suspect'), options.text('certificate'), options.text('issuer')]
  if ((suspect === undefined) === (certificateId === undefined))
    throw usageError('Give --suspect <issuer> or --certificate <id>.')
  if ((certificateId === undefined) !== (given === undefined))
    throw usageError('--certificate and --issuer belong together.')
  return withGateway(context, options, async ({ state }, settings) =>
    certificateId === undefined
      ? state.clearSuspect(settings, { network, issuer: suspect ?? '', reason })
      : state.releaseRevocation(settings, { network, issuer: given ?? '', reason, certificateId }),
  )
}

/** `gateway network refresh --old-key`: a new key that the root cannot sign. */
export async function rotateIssuer(context: CommandContext, network: string, options: Options): Promise<Result> {
  const [issuer, list] = [options.text('issuer'), options.text('new-crl')]
  if (issuer === undefined || list === undefined) throw usageError('--old-key needs --issuer and --new-crl.')
  return withGateway(context, options, ({ state }, settings) =>
    state.rotateIssuer(settings, {
      network,
      issuer,
      oldKey: options.required('old-key'),
      newList: resolve(context.cwd, list),
    }),
  )
}

/** Runs `gateway audit`. */
export async function runGatewayAudit(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { stdout } = context
  const days = timeSpan(options, 'older-than', { unit: 'd', min: 0, max: 36_500 })
  const isPruned = options.isSet('prune')
  if (isPruned !== (days !== undefined)) throw usageError('--prune and --older-than belong together.')
  return withGateway(context, options, async ({ audit }, settings): Promise<Result> => {
    if (isPruned) return audit.prune(settings, days ?? 0)
    const write = async (lines: string): Promise<void> => {
      // Waits for a slow reader, because the events of a year do not fit into memory.
      if (!stdout.write(lines)) await stdout.drained()
    }
    return audit.export(settings, write, auditFormat(options))
  })
}
