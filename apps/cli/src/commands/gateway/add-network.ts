import { resolve } from 'node:path'
import { type JsonObject, type JsonValue, isJsonObject, visible, writeInstant } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { type Result, fields } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { noteOverrides, readRules, replaceChecked } from './init.ts'
import { gatewayFiles, policyFileText } from './gateway-folder.ts'
import { pinNetwork, readSource } from './network-source.ts'
import { loadPolicyFile } from './follow.ts'

/** Runs `gateway network add`: adds a verified network to the policy in a gateway folder. */
export async function runGatewayAddNetwork(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const folder = resolve(cwd, options.text('home') ?? '.')
  const files = gatewayFiles(folder)
  const client = chooseClient(await loadPolicy(cwd, folder), options.text('client'))
  const pinned = await pinNetwork(context, await readSource(context, options))
  const network = pinned.genesis.network_name
  // Again, because the requests took time: a key that was followed meanwhile must stay pinned.
  const policy = await loadPolicy(cwd, folder)
  if (Object.hasOwn(policy.networks, network))
    throw new CommandError({
      code: 'network_exists',
      message: `${typed(cwd, files.policy)} has the network ${network} already.`,
      hint: `Nothing was changed. To pin its newest key, use gateway network refresh.`,
    })
  const next = withNetwork(policy, {
    network,
    client,
    entry: { ...pinned.entry, ...readRules(options) },
    revision: writeInstant(context.now()),
  })
  await replaceChecked(context, folder, policy.all, policyFileText(next))
  noteOverrides(context)
  const rows: [string, string][] = [
    ['genesis block', `${genesisFingerprint(pinned.genesis)} (signed by the given root key)`],
    ['policy', typed(cwd, files.policy)],
    ['client', `${client} may now use ${network}`],
  ]
  const reload = 'kill -HUP <process id of the gateway>'
  const start = `chancery up --home ${typed(cwd, folder)}`
  const text = `${style.good('Added')} ${network} to the gateway.\n${fields(rows, style)}\n\n${style.title('Next:')} reload the running gateway, or start it:\n  ${reload}\n  ${start}`
  const data = { network, client, genesis_fingerprint: genesisFingerprint(pinned.genesis), next: [reload, start] }
  return { data: { ...data, policy: files.policy }, text }
}

export interface LoadedPolicy {
  readonly all: JsonObject
  readonly networks: JsonObject
  readonly clients: readonly JsonObject[]
}

export async function loadPolicy(cwd: string, folder: string): Promise<LoadedPolicy> {
  const { policy } = gatewayFiles(folder)
  const hint = 'There is no gateway in this folder: give it with --home.'
  const all = await loadPolicyFile(cwd, policy).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error
    throw new CommandError({ code: error.code, message: error.message, hint }, { cause: error })
  })
  const [networks, clients] = [all['networks'] ?? null, all['clients'] ?? null]
  if (!isJsonObject(networks) || !Array.isArray(clients))
    throw new CommandError({ code: 'invalid_policy', message: `${typed(cwd, policy)} is not a gateway policy.`, hint })
  return { all, networks, clients: (clients as readonly JsonValue[]).filter(isJsonObject) }
}

/** The only client of the policy, or the named one: a token must not gain a network by accident. */
function chooseClient({ clients }: LoadedPolicy, given: string | undefined): string {
  const ids = clients.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  const [only, ...more] = ids
  if (given === undefined && only !== undefined && more.length === 0) return only
  if (given !== undefined && ids.includes(given)) return given
  const message = given === undefined ? 'The policy has several clients.' : 'The policy has no such client.'
  throw usageError(message, `Choose who may use the network with --client: ${visible(ids.join(', '))}`)
}

interface Addition {
  readonly network: string
  readonly client: string
  readonly entry: JsonObject
  readonly revision: string
}

function withNetwork(policy: LoadedPolicy, { network, client, entry, revision }: Addition): JsonObject {
  const clients = policy.clients.map((each) => {
    const before = each['networks'] ?? null
    if (each['id'] !== client) return each
    return { ...each, networks: [...(Array.isArray(before) ? (before as readonly JsonValue[]) : []), network] }
  })
  return { ...policy.all, revision, networks: { ...policy.networks, [network]: entry }, clients }
}
