import { genesisDigest, readJson, readRecognitionTreaty, writeSortable } from '@chancery/protocol'
import { listLacking } from '../features/key-succession/index.ts'
import type { OpenSuccession } from './key-succession.ts'

/** Names of each kind that are printed. */
const NAMED = 10

export interface Followers {
  readonly lines: readonly string[]
  readonly areAll: boolean
  /** Every instance has the next key. Nothing replaces this. */
  readonly canSwitch: boolean
}

/** The ids of the keys that a gateway has for a network, or why it did not say. */
export type GatewayKeys = { readonly url: string } & (
  | { readonly keyIds: readonly string[] }
  | { readonly failure: string }
)
export type AskGateways = (network: string) => Promise<readonly GatewayKeys[]>

/** Who follows an announced key, as far as the authority sees it, and who does not. */
export async function describeFollowers(
  { core, keySuccession }: OpenSuccession,
  askGateways: AskGateways,
): Promise<Followers> {
  const db = core.database.read
  const digest = genesisDigest(core.network.genesis)
  const instances = await keySuccession.listInstances()
  const without = instances.filter(({ next_block }) => next_block !== digest).map(({ instance }) => instance)
  const { nodes, nodes_with_new_block, switch_by } = await keySuccession.describeSuccession()
  const lacking = await listLacking(db, digest, core.clock.now(), NAMED)
  const gateways = describeGateways(core.signing.keyId, await askGateways(core.network.name))
  return {
    lines: [
      `instances  ${instances.length - without.length} of ${instances.length} have the key${named(without)}`,
      `nodes      ${nodes_with_new_block} of ${nodes} with a heartbeat within a day${named(lacking)}`,
      gateways.line,
      await describePartners(core),
      ...(switch_by === null ? [] : [`deadline   ${switch_by}: then followers refuse the present key`]),
    ],
    areAll: nodes_with_new_block >= nodes && gateways.areAll,
    canSwitch: without.length === 0,
  }
}

/** Gateways do not report to an authority: only those that the operator names are asked. */
function describeGateways(
  keyId: string,
  asked: readonly GatewayKeys[],
): { readonly line: string; readonly areAll: boolean } {
  if (asked.length === 0)
    return { line: 'gateways   not asked: name each with --gateway, or read its GET /v1/networks', areAll: true }
  const silent = asked.flatMap((each) => ('failure' in each ? [`${each.url} (${each.failure})`] : []))
  const lacking = asked.flatMap((each) => ('keyIds' in each && !each.keyIds.includes(keyId) ? [each.url] : []))
  const following = asked.length - silent.length - lacking.length
  const parts = [
    `gateways   ${following} of ${asked.length} have a key ${keyId}`,
    ...(lacking.length === 0 ? [] : [`not yet${named(lacking)}`]),
    ...(silent.length === 0 ? [] : [`did not say${named(silent)}`]),
  ]
  return { line: parts.join('; '), areAll: following === asked.length }
}

/**
 * By the treaties that partners show, as last read. A partner accepts attestations and feeds of the next key only if a
 * treaty names it. Whether a partner has read the announcement is not known here.
 */
async function describePartners({ database, network, clock }: OpenSuccession['core']): Promise<string> {
  const partners = await database.read.selectFrom('partners').select('sovereign_id').orderBy('sovereign_id').execute()
  if (partners.length === 0) return 'partners   none'
  const now = writeSortable(clock.now())
  const treaties = await database.read
    .selectFrom('reported_treaties')
    .select(['sovereign_id', 'treaty_json'])
    .where('subject_sovereign_id', '=', network.name)
    .where('hidden', '=', 0)
    .where('starts_at', '<=', now)
    .where('ends_at', '>', now)
    .execute()
  const key = network.genesis.network_authority.public_key
  const [following, known] = [new Set<string>(), new Set<string>()]
  for (const { sovereign_id, treaty_json } of treaties) {
    known.add(sovereign_id)
    if (readRecognitionTreaty(readJson(treaty_json)).subject_public_keys.includes(key)) following.add(sovereign_id)
  }
  const names = partners.map((row) => row.sovereign_id)
  const lacking = names.filter((name) => known.has(name) && !following.has(name))
  const unknown = names.filter((name) => !known.has(name))
  return [
    `partners   ${names.filter((name) => following.has(name)).length} of ${names.length} name the key in a treaty, as last read`,
    ...(lacking.length === 0 ? [] : [`must replace their treaty${named(lacking)}`]),
    ...(unknown.length === 0 ? [] : [`show no treaty with this network${named(unknown)}`]),
  ].join('; ')
}

function named(names: readonly string[]): string {
  if (names.length === 0) return ''
  return `: ${names.slice(0, NAMED).join(', ')}${names.length >= NAMED ? ', …' : ''}`
}
