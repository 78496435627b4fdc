import { resolve } from 'node:path'
import { type GenesisBlock, type Signer, signersOf, verifyGenesisBlock } from '@chancery/protocol'
import { UnreachableError, UsageError } from '@chancery/sdk'
import type { Client, ClientOptions, RetryDelay } from '@chancery/sdk/authority'
import { openConnection } from '@chancery/sdk/internal'
import type { FollowedKeys, Connection as Link } from '@chancery/sdk/internal'
import { type Config, NO_CONFIG } from '../files/config.ts'
import type { CommandContext } from '../context.ts'
import { explain } from '../errors/explain.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import { OtherNetworkError } from '../errors/other-network.ts'
import { typed } from '../files/files.ts'
import { type Pin, genesisFingerprint, loadVerifiedGenesis, readPin } from '../files/genesis-file.ts'
import { loadSigner } from '../files/keys.ts'
import type { Options } from '../arguments/options.ts'
import { withProgress } from '../output/screen.ts'
import { keysFileOf, openFollowedKeys } from './followed-keys.ts'
import { fetchFromNetwork } from './own-network.ts'
import { findConfig } from './target.ts'

/** Connection of a command to an authority. */
export interface Connection {
  readonly url: string
  readonly config: Config
  /** The genesis block that pins the authority; undefined when none is configured. */
  readonly genesis: GenesisBlock | undefined
  /** Current public key of the authority, signed by the root of that block. */
  readonly authorityKey: string | undefined
  /** The current and former keys, followed from that block on. */
  readonly followed?: FollowedKeys
  /** For long-running commands, which handle failures themselves. */
  client(): Promise<Client>
  /** Makes calls, shows progress, and explains a missing response. */
  ask<Answer>(work: (client: Client) => Promise<Answer>): Promise<Answer>
  /** As `client` and `ask`, for a command that runs often: it opens the areas it uses, and no others are loaded. */
  link(): Link
  askOver<Answer>(work: (link: Link) => Promise<Answer>): Promise<Answer>
}

/** Whose identity `--genesis` is: that of the asked network, or of a partner that the command is about. */
type Pinned = 'asked' | 'partner'

/** A connection for public calls. */
export async function connect(context: CommandContext, options: Options, pinned?: Pinned): Promise<Connection> {
  return open(context, await findEndpoint(context, options, pinned))
}

/** A connection whose calls an operator signs. */
export async function connectAsOperator(
  context: CommandContext,
  options: Options,
  pinned?: Pinned,
): Promise<Connection> {
  return (await connectWithOperator(context, options, pinned)).connection
}

/** The same with the key of the operator, for a command that signs a record with it. */
export async function connectWithOperator(
  context: CommandContext,
  options: Options,
  pinned?: Pinned,
): Promise<{ readonly connection: Connection; readonly signer: Signer }> {
  const endpoint = await findEndpoint(context, options, pinned)
  const file = options.text('operator-key') ?? endpoint.config.paths.operator_private_key
  if (file === undefined)
    throw usageError('This command needs an operator key.', 'Give --operator-key, or --home with the folder of init.')
  const configured = endpoint.config.operator.key_id
  // The configured id belongs to the configured key.
  const isGiven = options.isSet('operator-key')
  const signer = await loadSigner(context, file, (noted) => (isGiven ? (noted ?? configured) : (configured ?? noted)))
  return { connection: openSigned(context, endpoint, 'operator', signer), signer }
}

/** Whether the target has an operator key: then a command can read what only operators see. */
export async function hasOperatorKey(context: CommandContext, options: Options): Promise<boolean> {
  if (options.isSet('operator-key')) return true
  return (await findConfig(context, options)).paths.operator_private_key !== undefined
}

/** A connection whose calls a key signs that has no certificate here. */
export async function connectWithKey(context: CommandContext, options: Options, signer: Signer): Promise<Connection> {
  return openSigned(context, await findEndpoint(context, options), 'node', signer)
}

function openSigned(
  context: CommandContext,
  endpoint: Endpoint,
  caller: 'operator' | 'node',
  signer: Signer,
): Connection {
  if (endpoint.authorityKey !== undefined)
    return open(context, endpoint, { [caller]: { signer, audience: endpoint.authorityKey } })
  context.note(`the network is not pinned: the key that ${endpoint.url} names is trusted. Give --genesis`)
  return open(context, endpoint, { [caller]: { signer, trustFirstAudience: true } })
}

/** Error for a signature that does not verify with the configured genesis block. */
export const FOLLOW_HINT = 'If the authority has a new key, run chancery genesis fetch first.'

/**
 * Returns the keys that may have signed a record of the pinned authority; undefined without a configured genesis block.
 */
export function signersAt({ authorityKey, followed }: Connection, record: object): readonly string[] | undefined {
  if (followed !== undefined) return signersOf(followed.keys, record)
  return authorityKey === undefined ? undefined : [authorityKey]
}

/** The configured genesis block for the command line of a hint. */
export function genesisWord(cwd: string, { config }: Connection): string {
  return config.paths.genesis === undefined ? '<file>' : typed(cwd, config.paths.genesis)
}

export type Endpoint = Omit<Connection, 'ask' | 'askOver' | 'client' | 'link'>

async function findEndpoint(context: CommandContext, options: Options, pinned: Pinned = 'asked'): Promise<Endpoint> {
  const given = pinned === 'asked' ? options.text('genesis') : undefined
  // A pin that cannot be read is an error. Trust on first use would silently ignore it.
  const pin = given === undefined ? undefined : await readPin(context.cwd, given)
  const found = await findConfig(context, options)
  const config = await sameNetwork(found, pin)
  const url = options.text('url') ?? config.network.na_endpoint
  if (url === undefined) throw noNetwork(given !== undefined)
  const path = given === undefined || pin?.block === undefined ? config.paths.genesis : resolve(context.cwd, given)
  if (pin !== undefined && pin.block === undefined && path === undefined) {
    const genesis = await fetchPinned(context, url, pin)
    return { url, config, genesis, authorityKey: genesis.network_authority.public_key }
  }
  if (path === undefined) return { url, config, genesis: undefined, authorityKey: undefined }
  const followed = await openFollowedKeys(await loadVerifiedGenesis(path), keysFileOf(path))
  return { url, config, genesis: followed.keys.genesis, authorityKey: followed.audience, followed }
}

function noNetwork(isPinned: boolean): CommandError {
  if (isPinned) return usageError('--genesis names another network than the selected one.', 'Give its --url, too.')
  return usageError('No network is selected.', 'Select one: chancery use ./folder. Or give --genesis and --url.')
}

/** A pin of another network selects that network: then nothing of the target is used. */
async function sameNetwork(config: Config, pin: Pin | undefined): Promise<Config> {
  const { genesis } = config.paths
  if (pin === undefined || genesis === undefined) return config
  const own = await loadVerifiedGenesis(genesis)
  const isSame =
    pin.block === undefined
      ? pin.fingerprint === genesisFingerprint(own)
      : pin.block.root_public_key === own.root_public_key && pin.block.network_name === own.network_name
  return isSame ? config : NO_CONFIG
}

/** The block of the server, if it is the one that a fingerprint names. */
async function fetchPinned(context: CommandContext, url: string, pin: Pin): Promise<GenesisBlock> {
  const genesis = await openForeign(context, url).ask((client) => client.sovereign.genesis())
  if (genesisFingerprint(genesis) === pin.fingerprint && (await verifyGenesisBlock(genesis)).ok) return genesis
  throw new OtherNetworkError(`${url} is the authority of another network: ${genesis.network_name}`)
}

/** Returns how a local client reaches a service that listens on a host and port. */
export function addressOf(host: string, port: string): string {
  if (host === '0.0.0.0' || host === '') return `http://127.0.0.1:${port}`
  if (host === '::') return `http://[::1]:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

type Caller = Pick<ClientOptions, 'operator' | 'node'>

/** Opens a connection to a known endpoint. */
export function open(context: CommandContext, endpoint: Endpoint, caller: Caller = {}): Connection {
  const { url, genesis } = endpoint
  const fetch = genesis === undefined ? {} : { fetch: fetchFromNetwork(url, genesis) }
  const facts = { url, clock: context.now, ...fetch, ...caller }
  const askOver = <Answer>(work: (link: Link) => Promise<Answer>): Promise<Answer> =>
    withProgress(context, `Waiting for ${endpoint.url}`, async (progress) => {
      const onRetry = (pause: RetryDelay): void => progress.update(delayText(pause))
      const link = makeLink(endpoint, { ...facts, retry: { onRetry } })
      try {
        return await work(link)
      } catch (error) {
        throw error instanceof UnreachableError ? notRunning(context, endpoint, error) : error
      }
    })
  return {
    ...endpoint,
    askOver,
    link: () => makeLink(endpoint, facts),
    ask: (work) => askOver(async (link) => work(await openAll(link))),
    client: () => openAll(makeLink(endpoint, facts)),
  }
}

/** All areas of the library are a hundred files. */
async function openAll(link: Link): Promise<Client> {
  const { allAreas } = await import('./all-areas.ts')
  return allAreas(link)
}

/** Opens a connection to the authority of another network, without the own configuration. */
export function openForeign(context: CommandContext, address: string): Connection {
  return open(context, { url: address, config: NO_CONFIG, genesis: undefined, authorityKey: undefined })
}

function makeLink(endpoint: Endpoint, options: ClientOptions): Link {
  try {
    return openConnection(options)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw usageError(`${endpoint.url} cannot be used: ${error.message}.`, 'Check --url.')
  }
}

function delayText({ waitMs, error }: RetryDelay): string {
  const seconds = Math.ceil(waitMs / 1000)
  return `${error.message.replace(/\.$/, '')}; trying again in ${seconds} s`
}

/** Adds the command that starts this authority, if exactly this address is the one of the folder. */
function notRunning(context: CommandContext, { config, url }: Endpoint, error: UnreachableError): CommandError {
  const { code, message, hint } = explain(error)
  const { home, na_private_key: key } = config.paths
  // The folder of a node has no authority to start.
  const isKnown = home !== undefined && key !== undefined && url === config.network.na_endpoint
  if (error.systemCode !== 'ECONNREFUSED') return new CommandError({ code, message, hint }, { cause: error })
  const name = config.network.name === undefined ? '' : ` (${config.network.name})`
  return new CommandError(
    {
      code,
      message: `Nothing answers at ${url}${isKnown ? name : ''}.`,
      hint: isKnown ? `Start it: chancery up --home ${typed(context.cwd, home)}` : 'Check --url, and that it runs.',
    },
    { cause: error },
  )
}
