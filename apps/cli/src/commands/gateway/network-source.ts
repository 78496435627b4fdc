import { dirname, join, resolve } from 'node:path'
import { visible } from '@chancery/protocol'
import { isLocal } from '../../connection/followed-keys.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { loadSaved } from '../../connection/target.ts'
import { CONFIG_FILE, NO_CONFIG, readConfig, readIfExists } from '../../files/config.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { loadPublicKey } from '../../files/keys.ts'
import { withProgress } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { type Commands, toToolError } from './tools.ts'

/** What an operator knows about a network before the gateway trusts it. */
export interface NetworkSource {
  readonly url: string
  readonly rootKey: string
  /** Undefined when only address and root key are known. */
  readonly network?: string
  readonly allowHttp: boolean
}

type Pinned = Awaited<ReturnType<Commands['pinNetwork']>>
type PinProblem = Extract<Pinned, { readonly code: string }>
/** A network that passed every check, with its entry for the policy. */
export type PinnedNetwork = Exclude<Pinned, PinProblem>

/** Reads --network, or --genesis or --root-key with --url. A block in the folder of an authority names its address. */
export async function readSource(context: CommandContext, options: Options): Promise<NetworkSource> {
  const [named, pin, key] = [options.text('network'), options.text('genesis'), options.text('root-key')]
  const given = [named, pin, key].filter((each) => each !== undefined)
  if (given.length !== 1)
    throw usageError(
      'Name the network: --network, or --genesis, or --root-key with --url.',
      'Its operator has both: genesis.json and keys/root.pub in the folder of chancery init.',
    )
  const config = named === undefined ? NO_CONFIG : await loadSaved(context, named, '--network')
  const file = named === undefined ? pin : config.paths.genesis
  const block = file === undefined ? undefined : await loadVerifiedGenesis(resolve(context.cwd, file))
  const url = options.text('url') ?? config.network.na_endpoint ?? (await addressNextTo(context.cwd, file))
  if (url === undefined) throw usageError('The address of the authority is missing.', 'Give it with --url.')
  const rootKey = key === undefined ? undefined : await loadPublicKey(context.cwd, '--root-key', key)
  return {
    url,
    rootKey: rootKey ?? block?.root_public_key ?? '',
    ...(block === undefined ? {} : { network: block.network_name }),
    allowHttp: isHttpAllowed(url, options),
  }
}

async function addressNextTo(cwd: string, genesis: string | undefined): Promise<string | undefined> {
  if (genesis === undefined) return undefined
  const file = join(dirname(resolve(cwd, genesis)), CONFIG_FILE)
  const text = await readIfExists(file)
  return text === undefined ? undefined : readConfig(file, text).network.na_endpoint
}

function isHttpAllowed(url: string, options: Options): boolean {
  if (options.isSet('allow-http')) return true
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  return parsed?.protocol === 'http:' && isLocal(parsed)
}

/** Verifies the genesis block with the root key, runs the preflight, and returns the entry. Writes nothing. */
export async function pinNetwork(context: CommandContext, source: NetworkSource): Promise<PinnedNetwork> {
  const { url: origin, rootKey, network, allowHttp } = source
  const { commands } = await import('@chancery/gateway')
  const args = { origin, rootKey, allowHttp, ...(network === undefined ? {} : { network }) }
  const pinned = await withProgress(context, `Checking ${origin}`, () => commands.pinNetwork(args)).catch(
    (error: unknown) => {
      throw withUrlHint(toToolError(error, commands), origin)
    },
  )
  if ('code' in pinned) throw toFailure(pinned, source)
  if (pinned.note !== undefined) context.note(pinned.note)
  return pinned
}

function withUrlHint(error: unknown, url: string): unknown {
  if (!(error instanceof CommandError)) return error
  const hint = url.startsWith('http:')
    ? 'Use the https address of the authority. Inside your own networks you can add --allow-http.'
    : 'Give scheme, host and port only, for example https://na.example.org:8443.'
  return new CommandError({ code: 'invalid_address', message: `${error.message}.`, hint, exitCode: 2 })
}

/** Returns the error for an authority that must not be trusted, with the next step. */
function toFailure(problem: PinProblem, source: NetworkSource): CommandError {
  const { message, hint } = explain(problem, source)
  const problems =
    problem.code === 'preflight_failed'
      ? [...problem.failed, ...(problem.note === undefined ? [] : [problem.note])]
      : []
  const code = problem.code === 'no_genesis' ? 'authority_unreachable' : problem.code
  return new CommandError({ code, message, problems, hint: `Nothing was written. ${hint}` })
}

function explain(problem: PinProblem, source: NetworkSource): { readonly message: string; readonly hint: string } {
  const { rootKey, network = 'this network', allowHttp } = source
  const at = visible(source.url)
  switch (problem.code) {
    case 'no_genesis': {
      const name = allowHttp ? '' : ' A name that resolves to a private address needs --allow-http.'
      const hint = `Start the authority, or correct the address, and run the command again.${name}`
      return { message: `${at} serves no genesis block.`, hint }
    }
    case 'root_key_mismatch':
      return {
        message: `${at} has the root key ${visible(problem.found)}, not ${rootKey}.`,
        hint: 'Check the address and the root key. If both are correct, another server answers at this address: ask the operator of the authority.',
      }
    case 'genesis_invalid':
      return {
        message: `The genesis block of ${at} does not verify (${visible(problem.reason)}).`,
        hint: 'Ask the operator of the authority whether it is the right one.',
      }
    case 'document_too_large':
      return {
        message: `${problem.path} of ${at} is larger than ${problem.maxBytes} bytes.`,
        hint: 'A policy cannot contain such a list. Write the policy with an earlier, smaller list: docs/operate/capacity.md.',
      }
    case 'other_network':
      return {
        message: `${at} is the authority of ${visible(problem.found)}, not of ${network}.`,
        hint: `Give the address of the authority of ${network} with --url.`,
      }
    default:
      return { message: `${at} does not pass the preflight.`, hint: adviceOf(problem.failed) }
  }
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^clock_offset$/, 'Correct the clock of this machine or of the authority, and run the command again.'],
  [/^authority_delegation_window$/, 'The authority key is outside its validity period: see docs/operate/keys.md.'],
  [/^(?:crl|feed)_/, 'Run chancery doctor on the machine of the authority: its lists must be signed and current.'],
]

function adviceOf(failed: readonly string[]): string {
  const found = ADVICE.find(([pattern]) => failed.some((check) => pattern.test(check)))
  return found?.[1] ?? 'Send the names of these checks to the operator of the authority.'
}
