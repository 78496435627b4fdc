import { join } from 'node:path'
import { RequestError, UnreachableError, createClient } from '@chancery/sdk'
import type { Client, ClientOptions, Pause } from '@chancery/sdk'
import { loadConfig } from './config.ts'
import type { Config } from './config.ts'
import type { CommandContext } from './context.ts'
import { explain } from './explain.ts'
import { Failure, misuse } from './failure.ts'
import { typed } from './files.ts'
import { loadVerifiedGenesis } from './genesis-file.ts'
import { loadSigner } from './keys.ts'
import type { Options } from './options.ts'
import { withProgress } from './output/progress.ts'

/** Where commands that talk to an authority send their calls. */
export interface Connection {
  readonly url: string
  readonly config: Config
  /** The public key of the authority as the local genesis block names it; undefined when no block is configured. */
  readonly authorityKey: string | undefined
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
  if (place.authorityKey !== undefined) return open(context, place, { signer, audience: place.authorityKey })
  context.note(
    `the authority is not pinned: no genesis block is configured, so the key that ${place.url} names is trusted`,
  )
  return open(context, place, { signer, trustFirstAudience: true })
}

type Place = Omit<Connection, 'ask'>

async function findPlace(context: CommandContext, options: Options): Promise<Place> {
  const config = await loadConfig({ ...context, given: options.text('config') })
  for (const warning of config.warnings) context.note(warning)
  const url = options.text('url') ?? config.network.na_endpoint ?? localUrl(config)
  // A pin that cannot be read stops here: falling back to trust on first use would undo it in silence.
  const genesis = config.paths.genesis
  const block = genesis === undefined ? undefined : await loadVerifiedGenesis(genesis)
  return { url, config, authorityKey: block?.network_authority.public_key }
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

function open(context: CommandContext, place: Place, operator?: ClientOptions['operator']): Connection {
  const ask = <Answer>(work: (client: Client) => Promise<Answer>): Promise<Answer> =>
    withProgress(context, `Waiting for ${place.url}`, async (progress) => {
      const onPause = (pause: Pause): void => progress.say(pauseText(pause))
      const client = makeClient(place, {
        url: place.url,
        clock: context.now,
        retry: { onPause },
        ...(operator && { operator }),
      })
      try {
        return await work(client)
      } catch (error) {
        throw error instanceof UnreachableError ? notRunning(context, place, error) : error
      }
    })
  return { ...place, ask }
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
  const home = config.paths.home
  if (error.systemCode !== 'ECONNREFUSED' || home === undefined) return new Failure({ code, message, hint })
  const start = `chancery authority start --env-file ${typed(context.cwd, join(home, 'authority.env'))}`
  return new Failure({ code, message, hint: `Is the authority running? Start it with: ${start}` })
}
