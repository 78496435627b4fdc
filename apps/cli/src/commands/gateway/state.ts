import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withGateway } from './maintain.ts'

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
