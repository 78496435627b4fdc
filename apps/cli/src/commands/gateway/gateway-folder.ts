import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GATEWAY_POLICY_BYTES } from '@chancery/contract'
import { type Instant, type JsonObject, type JsonValue, writeInstant, writeJson } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { OWNER_ONLY, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { prepareHome } from '../init/home.ts'
import { toToolError } from './tools.ts'

/** The files of one gateway, all below its folder except a token file that the operator chose. */
export function gatewayFiles(folder: string): GatewayFiles {
  return {
    policy: join(folder, 'policy.json'),
    settings: join(folder, 'gateway.env'),
    stateFolder: join(folder, 'state'),
    state: join(folder, 'state', 'gateway.state'),
    token: join(folder, 'caller.token'),
  }
}

export interface GatewayFiles {
  readonly policy: string
  readonly settings: string
  readonly stateFolder: string
  readonly state: string
  readonly token: string
}

export interface GatewayFolderOptions {
  /** Absolute. It must be new or empty. */
  readonly folder: string
  /** Entries for the policy by network name, from `pinNetwork`. */
  readonly networks: Readonly<Record<string, JsonObject>>
  /** IP address and port of the listener. */
  readonly address: string
  readonly client: GatewayClientOptions
  /** Absolute. Undefined: the token is only returned. */
  readonly tokenFile: string | undefined
  readonly now: Instant
  /** For paths in messages. */
  readonly cwd: string
}

export interface GatewayClientOptions {
  readonly id: string
  readonly expiresAt: Instant
  readonly requestsPerMinute: number
  /** True: the token also reads /metrics. */
  readonly metrics: boolean
}

export interface MadeGateway {
  readonly files: GatewayFiles
  readonly token: string
  /** Removes everything that was created. */
  readonly undo: () => Promise<void>
}

/**
 * Writes policy, settings, state and caller token of a gateway into a new folder. The policy has the digest of the token
 * only. A failure leaves nothing.
 */
export async function makeGatewayFolder(options: GatewayFolderOptions): Promise<MadeGateway> {
  const { folder, tokenFile } = options
  await refuseUsedFolder(options.cwd, folder)
  const files = { ...gatewayFiles(folder), ...(tokenFile === undefined ? {} : { token: tokenFile }) }
  if (tokenFile !== undefined) await refuseExisting([tokenFile], 'Choose another file with --token-file.')
  const { commands } = await import('@chancery/gateway')
  const { token, token_sha256 } = commands.newToken().data as { token: string; token_sha256: string }
  const prepared = await prepareHome(folder, false, options.now)
  let hasToken = false
  const undo = async (): Promise<void> => {
    if (hasToken) await rm(files.token, { force: true })
    await prepared.undo()
  }
  try {
    await writeNewFile(files.policy, policyText(options, token_sha256), OWNER_ONLY)
    await writeNewFile(files.settings, settingsText(files, options), OWNER_ONLY)
    await mkdir(files.stateFolder, { mode: 0o700 })
    await commands.createState(files.settings).catch((error: unknown) => {
      throw toToolError(error, commands)
    })
    if (tokenFile !== undefined) await writeNewFile(tokenFile, `${token}\n`, OWNER_ONLY)
    hasToken = tokenFile !== undefined
    return { files, token, undo }
  } catch (error) {
    await undo()
    throw error
  }
}

/** Checks before any request that the folder is new or empty; {@link makeGatewayFolder} checks again. */
export async function refuseUsedFolder(cwd: string, folder: string): Promise<void> {
  const found = await readdir(folder).catch((): string[] => [])
  if (found.length === 0) return
  const path = typed(cwd, folder)
  const isGateway = found.includes('policy.json') || found.includes('gateway.env')
  if (isGateway)
    throw new CommandError({
      code: 'gateway_exists',
      message: `${path} already contains a gateway.`,
      hint: `Choose another folder with --home. To add a network to this one: chancery gateway network add --genesis ${path}/genesis.json`,
    })
  throw new CommandError({
    code: 'folder_in_use',
    message: `${path} contains other files.`,
    hint: 'Choose a new or empty folder with --home.',
  })
}

function policyText({ networks, client, now }: GatewayFolderOptions, digest: string): string {
  return policyFileText({
    revision: writeInstant(now),
    networks: { ...networks },
    clients: [
      {
        id: client.id,
        token_sha256: digest,
        networks: Object.keys(networks),
        requests_per_minute: client.requestsPerMinute,
        expires_at: writeInstant(client.expiresAt),
        ...(client.metrics ? { metrics: true } : {}),
      },
    ],
  })
}

/** Returns a policy as text, indented for people and version control. Without indentation where it would be too large. */
export function policyFileText(value: JsonValue): string {
  const compact = writeJson(value)
  const indented = `${JSON.stringify(JSON.parse(compact), undefined, 2)}\n`
  return Buffer.byteLength(indented) <= GATEWAY_POLICY_BYTES ? indented : `${compact}\n`
}

function settingsText(files: GatewayFiles, { networks, address }: GatewayFolderOptions): string {
  return [
    `# Settings of a gateway for ${Object.keys(networks).join(', ')}. One NAME=value per line; values are literal, without quotes.`,
    `GATEWAY_POLICY_FILE=${files.policy}`,
    `GATEWAY_STATE_FILE=${files.state}`,
    `GATEWAY_ADDR=${address}`,
    '',
  ].join('\n')
}
