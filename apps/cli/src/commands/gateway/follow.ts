import { resolve } from 'node:path'
import { type Crl, type JsonObject, isJsonObject, verifyList, writeInstant, writeJson } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { Client } from '@chancery/sdk/authority'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError } from '../../errors/failure.ts'
import { readText, replaceServiceFile, typed } from '../../files/files.ts'
import { keysFileOf, openFollowedKeys } from '../../connection/followed-keys.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Change, followNetwork, issuerOf, issuersOf } from './follow-policy.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { requireGenesis } from '../genesis/succeed.ts'
import { gatewayFiles } from './gateway-folder.ts'
import { rotateIssuer } from './tools.ts'

const POLICY_LIMITS = { maxDepth: 32, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

export function loadPolicyFile(cwd: string, path: string): Promise<JsonObject> {
  return loadJsonObject(cwd, path, POLICY_LIMITS)
}

/**
 * Replaces a policy. A policy that has changed since it was loaded is not replaced: a key that another process pinned
 * or removed meanwhile would be lost.
 */
export async function replacePolicy(cwd: string, path: string, before: JsonObject, text: string): Promise<void> {
  if (writeJson(await loadPolicyFile(cwd, path)) !== writeJson(before))
    throw new CommandError({
      code: 'file_changed',
      message: `${typed(cwd, path)} was changed by another process. Nothing was written.`,
      hint: 'Run the same command again.',
    })
  await replaceServiceFile(path, text)
}

/** Runs `gateway network refresh`: adds the newest key of a network that the root of the given block signed. */
export async function runGatewayRefresh(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const network = args.required('network')
  if (options.isSet('old-key')) return rotateIssuer(context, network, options)
  const genesisFile = resolve(cwd, requireGenesis(options))
  const policyFile = await findPolicyFile(context, options)
  const policy = await loadPolicyFile(cwd, policyFile)
  const networks = policy['networks'] ?? null
  const entry = isJsonObject(networks) && Object.hasOwn(networks, network) ? networks[network] : undefined
  if (entry === undefined || !isJsonObject(entry) || !isJsonObject(networks))
    throw new CommandError({ code: 'unknown_network', message: `${typed(cwd, policyFile)} has no network ${network}.` })
  const block = await loadVerifiedGenesis(genesisFile)
  // Under a wrong name, one authority could issue certificates for the network of another.
  if (block.network_name !== network)
    throw new CommandError({
      code: 'other_network',
      message: `${typed(cwd, genesisFile)} is the block of ${block.network_name}, not of ${network}.`,
    })
  const followed = await openFollowedKeys(block, keysFileOf(genesisFile))
  const connection = await connect(context, options)
  const outcome = await connection.ask((client) => followed.follow(client))
  if (outcome !== 'changed' && outcome !== 'unchanged')
    throw new CommandError({
      code: outcome,
      message: `${connection.url} offers a block that the root of ${typed(cwd, genesisFile)} did not sign (${outcome}).`,
      hint: 'Nothing was changed. Inform the operator of the authority.',
    })
  const publicKey = followed.current
  const list = await connection.ask((client) => findList(client, publicKey))
  const origin = connection.url.replace(/\/$/, '')
  const others = [...new Set([issuerOf(entry), ...issuersOf(entry, origin)])].filter((id) => id !== list.issuer)
  const withoutList = await connection.ask((client) => findWithoutList(client, others))
  const former = followed.keys.history?.former_keys ?? []
  const formerKeys = former.filter((key) => key.public_key !== publicKey)
  const { entry: next, change } = followNetwork(entry, {
    publicKey,
    list,
    origin,
    withoutList,
    formerKeys,
    rootKey: block.root_public_key,
  })
  if (change === 'unchanged') return { data: { change, key_id: list.issuer }, text: 'The policy pins the newest key.' }
  // Keeps the indentation of the operator's file.
  const isWide = (await readText(policyFile)).includes('\n  ')
  // The audit names the policy of each request by its revision.
  const revision = writeInstant(context.now())
  const written = { ...policy, revision, networks: { ...networks, [network]: next } }
  const text = isWide ? JSON.stringify(JSON.parse(writeJson(written)), undefined, 2) : writeJson(written)
  await replacePolicy(cwd, policyFile, policy, `${text}\n`)
  const over = others.filter((id) => withoutList.has(id)).join(', ')
  const report = reportOf({ network, over, issuer: list.issuer, retired: issuerOf(entry) }, style)[change]
  return { data: { change, key_id: list.issuer, revision }, text: `${report}\nReload the gateway (SIGHUP) to use it.` }
}

/** The file of --policy, else that of the gateway in the folder. */
async function findPolicyFile(context: CommandContext, options: Options): Promise<string> {
  const given = options.text('policy')
  if (given !== undefined) return resolve(context.cwd, given)
  return gatewayFiles(resolve(context.cwd, options.text('home') ?? '.')).policy
}

interface ReportNames {
  readonly network: string
  readonly issuer: string
  /** Before the change. */
  readonly retired: string
  readonly over: string
}

function reportOf(
  { network, issuer, retired, over }: ReportNames,
  style: CommandContext['style'],
): Readonly<Record<Exclude<Change, 'unchanged'>, string>> {
  return {
    added: `${style.good('Added')} ${issuer} to ${network}: the gateway accepts certificates of both keys.`,
    promoted: `${style.good('Replaced')} the retired issuer ${retired} of ${network} by ${issuer}.`,
    dropped: `${style.good('Removed')} ${over} from ${network}: the authority signs no list with it.`,
    pinned: `${style.good('Pinned')} the root key of ${network}: the gateway follows later keys by itself.`,
    recorded: `${style.good('Recorded')} the former keys of ${network}: the mesh shows their records while they last.`,
  }
}

/** Returns a list of the newest key: the announced first one, or the current one. That key must have signed it. */
async function findList(client: Client, publicKey: string): Promise<Crl> {
  const first = await client.sovereign.keySuccession().then(
    ({ first_list }) => first_list,
    (error: unknown) => {
      if (error instanceof RefusedError && error.status === 404) return null
      throw error
    },
  )
  const list = first ?? (await client.crl.current())
  if (await verifyList(list, [publicKey])) return list
  throw new CommandError({
    code: 'invalid_list',
    message: 'The authority gives no list that its newest key signed.',
    hint: 'While a key is announced, the operator renews its first list with --step announce.',
  })
}

async function findWithoutList(client: Client, keyIds: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const keyId of keyIds) if (await isWithoutList(client, keyId)) found.add(keyId)
  return found
}

async function isWithoutList(client: Client, keyId: string): Promise<boolean> {
  try {
    await client.crl.keys(keyId)
    return false
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'key_list_not_found') return true
    throw error
  }
}
