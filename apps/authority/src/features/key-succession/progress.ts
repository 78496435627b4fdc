import { genesisDigest, readInstant, writeInstant } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { findSuccession } from '../../signing/newest-block.ts'
import { findLiveFormer } from '../crl/index.ts'
import { countFollowers, countUsable } from './store.ts'

/** How far a succession is. */
export type SuccessionProgress = {
  readonly phase: 'none' | 'announced' | 'switched' | 'retired'
  readonly key_id: string | null
  readonly announced_at: string | null
  readonly switched_at: string | null
  /** Nodes heard of within a day, and those of them that hold the new block. */
  readonly nodes: number
  readonly nodes_with_new_block: number
  readonly former_key_id: string | null
  /** Certificates of the former key that are in use; null unless asked for: they are counted one by one. */
  readonly former_certificates: number | null
}

export async function describeSuccession(
  { store, clock, genesis }: Pick<Office, 'store' | 'clock' | 'genesis'>,
  { isFull = false }: { readonly isFull?: boolean } = {},
): Promise<SuccessionProgress> {
  const now = clock.now()
  const stored = await findSuccession(store.db)
  const live = await findLiveFormer(store.db, now)
  const digest = stored?.genesis_digest ?? genesisDigest(genesis)
  const phase = (stored?.phase ?? (live === undefined ? 'none' : 'switched')) as SuccessionProgress['phase']
  const isUnderWay = phase === 'announced' || phase === 'switched'
  const { holding, nodes } = isUnderWay ? await countFollowers(store.db, digest, now) : { holding: 0, nodes: 0 }
  return {
    phase,
    key_id: stored?.key_id ?? null,
    announced_at: toPublic(stored?.announced_at),
    switched_at: toPublic(stored?.switched_at),
    nodes,
    nodes_with_new_block: holding,
    former_key_id: live?.key_id ?? null,
    former_certificates: live === undefined || !isFull ? null : await countUsable(store, store.db, live.key_id, now),
  }
}

/** Counting takes the database a while, and anybody may ask for the dashboard. */
const KNOWN_FOR_MS = 10_000
const known = new WeakMap<Office, { readonly at: number; readonly progress: Promise<SuccessionProgress> }>()

/** As it was a few seconds ago at most. */
export function readProgress(office: Office): Promise<SuccessionProgress> {
  const last = known.get(office)
  if (last !== undefined && performance.now() - last.at < KNOWN_FOR_MS) return last.progress
  const progress = describeSuccession(office)
  known.set(office, { at: performance.now(), progress })
  progress.catch(() => known.delete(office))
  return progress
}

function toPublic(stored: string | null | undefined): string | null {
  const at = readInstant(stored ?? '')
  return at === undefined ? null : writeInstant(at)
}
