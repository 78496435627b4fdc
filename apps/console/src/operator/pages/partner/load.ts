import { type EvidenceStoreEntry, type JsonObject, type RecognitionTreaty, verifyList } from '@chancery/protocol'
import type { Partner, TreatyRow } from '@chancery/sdk/authority'
import { at, read, send } from '../../client.ts'
import { session } from '../../key.ts'
import { makePayload } from '../../signing/payload.ts'
import { orUndefined, readOwnTreaties, readTheirTreaties } from '../partners/reads.ts'

export interface TheirTreaty {
  readonly treaty: RecognitionTreaty
  readonly as_of: string | null
}

export interface DecisionEntry {
  readonly entry: EvidenceStoreEntry
  readonly payload: JsonObject
}

/** What the page shows of one partner. */
export interface PartnerView {
  readonly ours: readonly TreatyRow[]
  /** Undefined when the authority does not read this network. */
  readonly partner: Partner | undefined
  readonly theirs: readonly TheirTreaty[]
  /** Undefined when the evidence store is off. */
  readonly decisions: readonly DecisionEntry[] | undefined
  /** Treaty ids whose signature this browser verified. */
  readonly verified: ReadonlySet<string>
}

/** The time until which the partner accepts members of this network. */
export const latestEnd = (view: PartnerView): string | undefined =>
  view.theirs
    .map(({ treaty }) => treaty.expires_at)
    .toSorted()
    .at(-1)

const SHOWN_DECISIONS = 5

export async function loadPartner(id: string, signal: AbortSignal): Promise<PartnerView> {
  const [ours, partner, decisions] = await Promise.all([
    readOwnTreaties(id, signal),
    orUndefined(read<Partner>(at`/admin/partners/${id}`, {}, signal)),
    orUndefined(readDecisions(id, signal)),
  ])
  const theirs = partner === undefined ? [] : await readTheirTreaties(id, signal)
  const theirKeys = partner?.authority_keys.map((key) => key.public_key) ?? []
  const verified = await verifyAll([
    ...ours.map(({ treaty }) => [treaty, [session.get()?.audience ?? '']] as const),
    ...theirs.map(({ treaty }) => [treaty, theirKeys] as const),
  ])
  return { ours, partner, theirs, decisions, verified }
}

async function verifyAll(
  treaties: readonly (readonly [RecognitionTreaty, readonly string[]])[],
): Promise<ReadonlySet<string>> {
  const verified = new Set<string>()
  for (const [treaty, keys] of treaties) if (await verifyList(treaty, keys)) verified.add(treaty.treaty_id)
  return verified
}

async function readDecisions(id: string, signal: AbortSignal): Promise<readonly DecisionEntry[]> {
  const { entries } = await read<{ readonly entries: readonly DecisionEntry[] }>(
    at`/admin/evidence`,
    { requester_sovereign_id: id, entry_kind: 'decision', order: 'newest', limit: SHOWN_DECISIONS },
    signal,
  )
  return entries
}

/** Asks what the end of a treaty would change. Nothing is changed. */
export async function previewEnd(treaty_id: string, signal: AbortSignal): Promise<JsonObject> {
  const target = at`/admin/recognition-treaties/${treaty_id}/revoke`
  return (await send(makePayload({ method: 'POST', target, body: { dry_run: true } }), signal)) as JsonObject
}
