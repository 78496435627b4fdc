import { join } from 'node:path'
import { signersOf } from '@chancery/protocol'
import type { GenesisBlock } from '@chancery/protocol'
import { RequestError, UnreachableError, createClient } from '@chancery/sdk'
import type { Client, ClientOptions, Pause, FollowedKeys } from '@chancery/sdk'
import { CONFIG_FILE, NO_CONFIG, loadConfig } from './config.ts'
import type { Config } from './config.ts'
import type { CommandContext } from './context.ts'
import { explain } from './explain.ts'
import { Failure, misuse } from './failure.ts'
import { errorCode, typed } from './files.ts'
import { loadVerifiedGenesis } from './genesis-file.ts'
import { loadSigner } from './keys.ts'
import type { Options } from './options.ts'
import { withProgress } from './output/progress.ts'
import { keysFileOf, openFollowedKeys } from './followed-keys.ts'
import { shellWord } from './output/shell-word.ts'

/** Where commands that talk to an authority send their calls. */
export interface Connection {
  readonly url: string
  readonly config: Config
  /** The genesis block that pins the authority; undefined when none is configured. */
  readonly genesis: GenesisBlock | undefined
  /** The public key of the authority that signs now, as the root of that block vouches for it. */
  readonly authorityKey: string | undefined
  /** That key and the former ones, as they were followed from that block on. */
  readonly followed?: FollowedKeys
  /** For commands that stay: they handle failures themselves. */
  client(): Client
  /** Makes calls, shows that it waits, and says in words when nobody answers. */
  ask<Answer>(work: (client: Client) => Promise<Answer>): Promise<Answer>
}

/** A connection for public calls. */
export async function connect(context: CommandContext, options: Options): Promise<Connection> {
  return open(context, await findPlace(context, options))
}

/** A connection whose calls an operator signs. */
export async function connectAsOperator(context: CommandContext, options: Options): Promise<Connection> {
  const place = await findPlace(context, options)
  const file = options.text('operator-key') ?? place.config.paths.operator_private_key
  if (file === undefined) {
    const hint = 'Give --operator-key <file>, or a configuration with paths.operator_private_key (init writes one).'
    throw misuse('This command is signed by an operator, and no operator key is known.', hint)
  }
  const configured = place.config.operator.key_id
  const signer = await loadSigner(context, file, (noted) => options.text('operator-key-id') ?? configured ?? noted)
  if (place.authorityKey !== undefined)
    return open(context, place, { operator: { signer, audience: place.authorityKey } })
  context.note(
    `the authority is not pinned: no genesis block is configured, so the key that ${place.url} names is trusted`,
  )
  return open(context, place, { operator: { signer, trustFirstAudience: true } })
}

/** For a signature that the configured genesis block cannot explain. */
export const FOLLOW_HINT = 'If the authority has a new key, run chancery genesis follow first.'

/** Who may have signed a record of the pinned authority; undefined when no genesis block is configured. */
export function signersAt({ authorityKey, followed }: Connection, record: object): readonly string[] | undefined {
  if (followed !== undefined) return signersOf(followed.keys, record)
  return authorityKey === undefined ? undefined : [authorityKey]
}

export type Place = Omit<Connection, 'ask' | 'client'>

async function findPlace(context: CommandContext, options: Options): Promise<Place> {
  const config = await findConfig(context, options)
  const url = options.text('url') ?? config.network.na_endpoint ?? localUrl(config)
  // A pin that cannot be read stops here: falling back to trust on first use would undo it in silence.
  const genesis = config.paths.genesis
  const block = genesis === undefined ? undefined : await loadVerifiedGenesis(genesis)
  if (block === undefined || genesis === undefined) return { url, config, genesis: undefined, authorityKey: undefined }
  const followed = await openFollowedKeys(block, keysFileOf(genesis))
  return { url, config, genesis: followed.keys.genesis, authorityKey: followed.audience, followed }
}

/** The configuration of a command; a node's home stands for the one in it. */
export async function findConfig(context: CommandContext, options: Options): Promise<Config> {
  const home = options.knows('home') ? options.text('home') : undefined
  if (home !== undefined && options.isSet('config')) throw misuse('Give --home or --config, not both.')
  const given = home === undefined ? options.text('config') : join(home, CONFIG_FILE)
  const config = await loadConfig({ ...context, given }).catch((error: unknown) => {
    if (home === undefined || !(error instanceof Failure) || errorCode(error.cause) !== 'ENOENT') throw error
    const hint = `Join a network first: chancery join --home ${shellWord(home)} --url <address>`
    throw new Failure({ code: 'no_node', message: `${home} is not the folder of a node.`, hint }, { cause: error })
  })
  for (const warning of config.warnings) context.note(warning)
  return config
}

function localUrl({ na }: Config): string {
  return addressOf(na.host ?? '127.0.0.1', na.port ?? '8443')
}

/** How a client on this machine reaches a service that listens on a host and port. */
export function addressOf(host: string, port: string): string {
  if (host === '0.0.0.0' || host === '') return `http://127.0.0.1:${port}`
  if (host === '::') return `http://[::1]:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

type Caller = Pick<ClientOptions, 'operator' | 'node'>

/** A connection to a place that is known already. */
export function open(context: CommandContext, place: Place, caller: Caller = {}): Connection {
  const facts = { url: place.url, clock: context.now, ...caller }
  const ask = <Answer>(work: (client: Client) => Promise<Answer>): Promise<Answer> =>
    withProgress(context, `Waiting for ${place.url}`, async (progress) => {
      const onPause = (pause: Pause): void => progress.say(pauseText(pause))
      const client = makeClient(place, { ...facts, retry: { onPause } })
      try {
        return await work(client)
      } catch (error) {
        throw error instanceof UnreachableError ? notRunning(context, place, error) : error
      }
    })
  return { ...place, ask, client: () => makeClient(place, facts) }
}

/** Another sovereign's authority: nothing of the own configuration speaks for or about it. */
export function openForeign(context: CommandContext, address: string): Connection {
  return open(context, { url: address, config: NO_CONFIG, genesis: undefined, authorityKey: undefined })
}

function makeClient(place: Place, options: ClientOptions): Client {
  try {
    return createClient(options)
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    throw misuse(`${place.url} cannot be used: ${error.message}.`, 'Check --url or network.na_endpoint.')
  }
}

function pauseText({ waitMs, error }: Pause): string {
  const seconds = Math.ceil(waitMs / 1000)
  return `${error.message.replace(/\.$/, '')}; trying again in ${seconds} s`
}

/** Names the very command that starts this authority when the configuration knows its home. */
function notRunning(context: CommandContext, { config }: Place, error: UnreachableError): Failure {
  const { code, message, hint } = explain(error)
  const { home, na_private_key: key } = config.paths
  // The home of a node holds no authority to start.
  if (error.systemCode !== 'ECONNREFUSED' || home === undefined || key === undefined)
    return new Failure({ code, message, hint }, { cause: error })
  const start = `chancery authority start --env-file ${typed(context.cwd, join(home, 'authority.env'))}`
  const startIt = `Is the authority running? Start it with: ${start}`
  return new Failure({ code, message, hint: startIt }, { cause: error })
}
