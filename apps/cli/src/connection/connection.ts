import { join, resolve } from 'node:path'
import { type GenesisBlock, type Signer, signersOf } from '@chancery/protocol'
import { UsageError, UnreachableError } from '@chancery/sdk'
import type { Connection as Link } from '@chancery/sdk/internal'
import type { Client, ClientOptions, RetryDelay } from '@chancery/sdk/authority'
import { openConnection, type FollowedKeys } from '@chancery/sdk/internal'
import { CONFIG_FILE, type Config, NO_CONFIG, loadConfig } from '../files/config.ts'
import type { CommandContext } from '../context.ts'
import { explain } from '../errors/explain.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import { errorCode, typed } from '../files/files.ts'
import { loadVerifiedGenesis } from '../files/genesis-file.ts'
import { loadSigner } from '../files/keys.ts'
import type { Options } from '../arguments/options.ts'
import { withProgress } from '../output/screen.ts'
import { keysFileOf, openFollowedKeys } from './followed-keys.ts'
import { fetchFromNetwork } from './own-network.ts'
import { shellWord } from '../output/shell-word.ts'

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

/** A connection for public calls. `genesis` is the file of an option that pins the network, instead of the configured one. */
export async function connect(context: CommandContext, options: Options, genesis?: string): Promise<Connection> {
  return open(context, await findEndpoint(context, options, genesis))
}

/** A connection whose calls an operator signs. */
export async function connectAsOperator(
  context: CommandContext,
  options: Options,
  genesis?: string,
): Promise<Connection> {
  return (await connectWithOperator(context, options, genesis)).connection
}

/** The same with the key of the operator, for a command that signs a record with it. */
export async function connectWithOperator(
  context: CommandContext,
  options: Options,
  genesis?: string,
): Promise<{ readonly connection: Connection; readonly signer: Signer }> {
  const endpoint = await findEndpoint(context, options, genesis)
  const file = options.text('operator-key') ?? endpoint.config.paths.operator_private_key
  if (file === undefined) {
    const hint = 'Give --operator-key <file>, or a configuration with paths.operator_private_key (init writes one).'
    throw usageError('This command needs an operator key.', hint)
  }
  const configured = endpoint.config.operator.key_id
  // The configured id belongs to the configured key.
  const idOf = (noted: string | undefined): string | undefined =>
    options.isSet('operator-key') ? (noted ?? configured) : (configured ?? noted)
  const signer = await loadSigner(context, file, (noted) => options.text('operator-key-id') ?? idOf(noted))
  if (endpoint.authorityKey !== undefined)
    return { connection: open(context, endpoint, { operator: { signer, audience: endpoint.authorityKey } }), signer }
  context.note(
    `the authority is not pinned: no genesis block is configured, so the key that ${endpoint.url} names is trusted`,
  )
  return { connection: open(context, endpoint, { operator: { signer, trustFirstAudience: true } }), signer }
}

/** A connection whose calls a key signs that has no certificate here. */
export async function connectWithKey(
  context: CommandContext,
  options: Options,
  signer: Signer,
  genesis: string | undefined,
): Promise<Connection> {
  const endpoint = await findEndpoint(context, options, genesis)
  if (endpoint.authorityKey !== undefined)
    return open(context, endpoint, { node: { signer, audience: endpoint.authorityKey } })
  context.note(
    `the authority is not pinned: no genesis block is configured, so the key that ${endpoint.url} names is trusted`,
  )
  return open(context, endpoint, { node: { signer, trustFirstAudience: true } })
}

/** Error for a signature that does not verify with the configured genesis block. */
export const FOLLOW_HINT = 'If the authority has a new key, run chancery genesis follow first.'

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

async function findEndpoint(context: CommandContext, options: Options, given: string | undefined): Promise<Endpoint> {
  const config = await findConfig(context, options)
  const url = options.text('url') ?? config.network.na_endpoint ?? localUrl(config)
  // A pin that cannot be read is an error. Trust on first use would silently ignore it.
  const genesis = given === undefined ? config.paths.genesis : resolve(context.cwd, given)
  const block = genesis === undefined ? undefined : await loadVerifiedGenesis(genesis)
  if (block === undefined || genesis === undefined) return { url, config, genesis: undefined, authorityKey: undefined }
  const followed = await openFollowedKeys(block, keysFileOf(genesis))
  return { url, config, genesis: followed.keys.genesis, authorityKey: followed.audience, followed }
}

/** Loads the configuration of a command; --home selects the one in the folder of a node. */
export async function findConfig(context: CommandContext, options: Options): Promise<Config> {
  const home = options.has('home') ? options.text('home') : undefined
  if (home !== undefined && options.isSet('config')) throw usageError('Give --home or --config, not both.')
  const given = home === undefined ? options.text('config') : join(home, CONFIG_FILE)
  const config = await loadConfig({ ...context, given }).catch((error: unknown) => {
    if (home === undefined || !(error instanceof CommandError) || errorCode(error.cause) !== 'ENOENT') throw error
    const hint = `Join a network first: chancery join --home ${shellWord(home)} --url <address>`
    throw new CommandError({ code: 'no_node', message: `${home} is not the folder of a node.`, hint }, { cause: error })
  })
  for (const warning of config.warnings) context.note(warning)
  return config
}

function localUrl({ na }: Config): string {
  return addressOf(na.host ?? '127.0.0.1', na.port ?? '8443')
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
    throw usageError(`${endpoint.url} cannot be used: ${error.message}.`, 'Check --url or network.na_endpoint.')
  }
}

function delayText({ waitMs, error }: RetryDelay): string {
  const seconds = Math.ceil(waitMs / 1000)
  return `${error.message.replace(/\.$/, '')}; trying again in ${seconds} s`
}

/** Adds the command that starts this authority, if the configuration has its folder. */
function notRunning(context: CommandContext, { config }: Endpoint, error: UnreachableError): CommandError {
  const { code, message, hint } = explain(error)
  const { home, na_private_key: key } = config.paths
  // The folder of a node has no authority to start.
  if (error.systemCode !== 'ECONNREFUSED' || home === undefined || key === undefined)
    return new CommandError({ code, message, hint }, { cause: error })
  const start = `chancery authority start --env-file ${typed(context.cwd, join(home, 'authority.env'))}`
  const startIt = `Is the authority running? Start it with: ${start}`
  return new CommandError({ code, message, hint: startIt }, { cause: error })
}
