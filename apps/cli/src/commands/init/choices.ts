import { resolve } from 'node:path'
import { isPlainText } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Options } from '../../arguments/options.ts'

/** Inputs of a new network. */
export interface Choices {
  /** Absolute. */
  readonly home: string
  readonly network: string
  readonly host: string
  readonly port: string
}

/** Reads the choices from flags; asks for missing ones on a terminal, else reports them. */
export async function readChoices(context: CommandContext, options: Options): Promise<Choices> {
  let [home, network, port] = [options.text('home'), options.text('network'), options.text('port')]
  const missing = [...(home === undefined ? ['--home'] : []), ...(network === undefined ? ['--network'] : [])]
  if (missing.length > 0 && !context.isInteractive) {
    throw usageError(`${missing.join(' and ')} must be given: the terminal is not interactive.`)
  }
  if (missing.length > 0) {
    home ??= await context.prompts.text(
      'Folder for keys, genesis block, database and configuration',
      './na',
      homeProblem,
    )
    network ??= await context.prompts.text('Name of the network', 'LOCAL-NET', networkProblem)
    port ??= await context.prompts.text('Port of the authority', options.textOrDefault('port'), portProblem)
  }
  const chosen = {
    home: home ?? '',
    network: network ?? '',
    host: options.textOrDefault('host'),
    port: port ?? options.textOrDefault('port'),
  }
  const problem =
    homeProblem(chosen.home) ?? networkProblem(chosen.network) ?? hostProblem(chosen.host) ?? portProblem(chosen.port)
  if (problem !== undefined) throw usageError(problem)
  return { ...chosen, home: resolve(context.cwd, chosen.home) }
}

/** A line end in a path would start another setting in the settings file. */
export function homeProblem(home: string): string | undefined {
  return isPlainText(home, 2048) ? undefined : 'The folder must have a name without control characters.'
}

// The name becomes part of the id of the first policy, policy-<name>-v0.1, which allows these characters only.
function networkProblem(network: string): string | undefined {
  const rule = 'The name of a network is 1 to 64 characters of A-Z a-z 0-9 . _ : -'
  return /^[A-Za-z0-9._:-]{1,64}$/.test(network) ? undefined : rule
}

function hostProblem(host: string): string | undefined {
  return /^[A-Za-z0-9.:_-]{1,255}$/.test(host) ? undefined : 'The host must be a name or an address without port.'
}

function portProblem(port: string): string | undefined {
  const isNumber = /^[1-9][0-9]{0,4}$/.test(port) && Number(port) <= 65_535
  return isNumber ? undefined : 'The port must be a whole number from 1 to 65535.'
}
