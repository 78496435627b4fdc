import { genesisDigest, readInstant, readJson, readKeyHistory, writeInstant } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { Database } from '../../database/database.ts'
import { findSuccession } from '../../signing/newest-block.ts'
import { isLargeTable } from '../../database/large-tables.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'
import { countFollowers, countUsable } from './queries.ts'
import type { Crl } from '../crl/index.ts'
import type { EvidenceLog } from '../evidence-log/index.ts'
import type { Policy } from '../policy/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'

export interface KeySuccessionParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'database'
  | 'findKey'
  | 'gates'
  | 'instance'
  | 'keyOwnerCheck'
  | 'keys'
  | 'log'
  | 'network'
  | 'operators'
  | 'signing'
> {
  readonly crl: Crl
  readonly evidenceLog: EvidenceLog
  readonly policy: Policy
  readonly revocationFeeds: RevocationFeeds
}

/** Progress of a succession. */
export type SuccessionProgress = {
  readonly phase: 'none' | 'announced' | 'switched' | 'retired'
  readonly key_id: string | null
  readonly announced_at: string | null
  readonly switched_at: string | null
  /** While announced: the end of the former key's validity. Followers refuse later signatures of it. */
  readonly switch_by: string | null
  /** Nodes with a heartbeat within a day, and those of them that have the new block. */
  readonly nodes: number
  readonly nodes_with_new_block: number
  readonly former_key_id: string | null
  /** Certificates of the former key that are in use. Null unless requested, because they are counted one by one. */
  readonly former_certificates: number | null
}

export async function describeSuccession(
  { database, clock, network }: Pick<Core, 'database' | 'clock' | 'network'>,
  { isFull = false }: { readonly isFull?: boolean } = {},
): Promise<SuccessionProgress> {
  const now = clock.now()
  const stored = await findSuccession(database.read)
  const live = await findLiveFormerKey(database.read, now)
  const digest = stored?.genesis_digest ?? genesisDigest(network.genesis)
  const phase = (stored?.phase ?? (live === undefined ? 'none' : 'switched')) as SuccessionProgress['phase']
  const isUnderWay = phase === 'announced' || phase === 'switched'
  const { holding, nodes } = isUnderWay ? await countFollowers(database.read, digest, now) : { holding: 0, nodes: 0 }
  return {
    phase,
    key_id: stored?.key_id ?? null,
    announced_at: toPublic(stored?.announced_at),
    switched_at: toPublic(stored?.switched_at),
    switch_by: phase === 'announced' ? await findDeadline(database, stored?.history_json ?? '') : null,
    nodes,
    nodes_with_new_block: holding,
    former_key_id: live?.key_id ?? null,
    former_certificates:
      live === undefined || !isFull ? null : await countUsable(database, database.read, live.key_id, now),
  }
}

/** The next step for the operator, as the command and the pages show it. */
export function nextStep(progress: SuccessionProgress): string | null {
  const { phase, nodes, nodes_with_new_block, former_key_id, switch_by } = progress
  const wait = nodes_with_new_block < nodes ? 'Wait until all nodes have the new block. ' : ''
  const before = switch_by === null ? '' : ` before ${switch_by}`
  if (phase === 'announced') return `${wait}Switch${before} with chancery authority rotate-key.`
  if (phase !== 'switched') return null
  return former_key_id === null
    ? `${wait}No certificate of the former key is left: take it out of the settings and run --step retire.`
    : `Wait until nodes have certificates of the new key, then run --step retire for ${former_key_id}.`
}

/** Counting takes time, and the dashboard is public. */
const CACHED_MS = 10_000
const known = new WeakMap<KeySuccessionParts, { readonly at: number; readonly progress: Promise<SuccessionProgress> }>()

/** At most a few seconds old. */
export function readProgress(parts: KeySuccessionParts): Promise<SuccessionProgress> {
  const last = findRecent(parts)
  if (last !== undefined) return last
  const progress = describeSuccession(parts)
  known.set(parts, { at: parts.clock.monotonicMs(), progress })
  progress.catch(() => known.delete(parts))
  return progress
}

/** For the metrics. In a large network this is the last count of the job; undefined before it. */
export async function readCachedProgress(parts: KeySuccessionParts): Promise<SuccessionProgress | undefined> {
  // One scrape needs it four times, so the table is read once.
  const last = findRecent(parts)
  if (last !== undefined) return last
  if (!(await isLargeTable(parts.database.read, 'node_liveness'))) return readProgress(parts)
  return known.get(parts)?.progress
}

function findRecent(parts: KeySuccessionParts): Promise<SuccessionProgress> | undefined {
  const last = known.get(parts)
  return last !== undefined && parts.clock.monotonicMs() - last.at < CACHED_MS ? last.progress : undefined
}

function toPublic(stored: string | null | undefined): string | null {
  const at = readInstant(stored ?? '')
  return at === undefined ? null : writeInstant(at)
}

/** When the validity of the current signing key ends, by the announced history. */
async function findDeadline({ read: db }: Pick<Database, 'read'>, historyText: string): Promise<string | null> {
  const current = await db.selectFrom('authority_identity').select('public_key').executeTakeFirst()
  const { former_keys } = readKeyHistory(readJson(historyText))
  return former_keys.find((key) => key.public_key === current?.public_key)?.valid_to ?? null
}
