import type { CommandContext } from '../../context.ts'
import { type Result, withProgress } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeSettings, report } from '../doctor/report.ts'
import { CommandError } from '../../errors/failure.ts'
import { resolve } from 'node:path'
import { auditFormat } from '../../arguments/audit-format.ts'
import { wholeNumber } from '../../arguments/numbers.ts'

const load = () => import('@chancery/gateway')

export type Commands = Awaited<ReturnType<typeof load>>['commands']
type Settings = Awaited<ReturnType<Commands['loadSettings']>>

/** Loads the gateway and its settings for one of its tools. Errors that an operator can fix become a CommandError. */
async function withGateway<Value>(
  options: Options,
  use: (commands: Commands, settings: Settings) => Promise<Value>,
): Promise<Value> {
  const { commands } = await load()
  try {
    return await use(commands, await commands.loadSettings(options.text('env-file')))
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

/** Runs `gateway state …`: operator commands on the durable state (protocol/gateway 18.5). */
export async function runGatewayStateFloors(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const at = (file: string): string => resolve(context.cwd, file)
  return withGateway(options, async ({ state }, settings) => {
    switch (context.command.path.at(-1)) {
      case 'floors':
        return state.floors(settings)
      case 'verify': {
        const floors = options.text('floors')
        const floorsFile = floors === undefined ? undefined : at(floors)
        return state.verify(settings, { file: at(args.required('file')), floorsFile })
      }
      case 'backup':
        return state.backup(settings, at(args.required('file')))
      case 'rotate-issuer':
        return state.rotateIssuer(settings, {
          network: args.required('network'),
          issuer: args.required('issuer'),
          oldKey: options.required('old-key'),
          newList: at(options.required('new-crl')),
        })
      case 'clear-suspect':
        return state.clearSuspect(settings, override(args, options))
      default:
        return state.releaseRevocation(settings, {
          ...override(args, options),
          certificateId: args.required('certificate'),
        })
    }
  })
}

function override(args: Arguments, options: Options): { network: string; issuer: string; reason: string } {
  return { network: args.required('network'), issuer: args.required('issuer'), reason: options.required('reason') }
}

/** Runs `gateway settings`: prints each setting of a gateway with its value and its origin. */
export async function runGatewaySettings(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/gateway')
  const explained = await commands.explainSettings(options.text('env-file'))
  return describeSettings(explained, options.isSet('changed'), context.style)
}

/** Runs `gateway audit verify`, `gateway audit export` and `gateway audit prune`. */
export async function runGatewayAuditVerify(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { stdout, command } = context
  return withGateway(options, async ({ audit }, settings): Promise<Result> => {
    const action = command.path.at(-1)
    if (action === 'verify') return audit.verify(settings)
    if (action === 'prune') return audit.prune(settings, wholeNumber(options, 'older-than-days', 0, 36_500) ?? 0)
    const write = async (lines: string): Promise<void> => {
      // Waits for a slow reader, because the events of a year do not fit into memory.
      if (!stdout.write(lines)) await stdout.drained()
    }
    return audit.export(settings, write, auditFormat(options))
  })
}

/** Runs `gateway doctor`: lists problems of a gateway with their fixes, the most severe first. */
export async function runGatewayDoctor(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/gateway')
  const findings = await withProgress(context, 'Looking at the gateway', () =>
    commands.diagnose(options.text('env-file'), { offline: options.isSet('offline') }),
  )
  return report(findings, context.style)
}
