import {
  asJson,
  asReceived,
  draftStoreAnchor,
  instantOf,
  readEventLine,
  retentionCheckpointForm,
  storeAnchorForm,
  verifyReceived,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { JsonObject, StoreAnchor } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { EvidenceState } from './resources.ts'
import { type EvidenceParts, readAnchor } from './store-verifier.ts'
import { dateAfter, isInFuture, reportInFuture } from '../../clock/date-after.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { type EvidenceHeadRow, readEvidenceHead } from './queries/chain.ts'
import { type Lease, checkLease } from '../../database/locks/leases.ts'
import { readBoundary } from './verify-store.ts'
import { type AnchorRow, findLatestAnchor, insertAnchor, readLines } from './queries/entries.ts'

export type AnchorOutcome =
  | { readonly status: 'anchored' | 'unchanged'; readonly text: string | null }
  | { readonly status: 'refused'; readonly reason: string }

/**
 * Signs the head of the store (protocol/trust-operations 6.12). Everything since the last anchor is checked first,
 * without a lock, because an anchor over a rewritten store would confirm the rewritten entries.
 */
export async function makeAnchor(parts: EvidenceState, cause: JsonObject, lease?: Lease): Promise<AnchorOutcome> {
  // If the store lost its end, the next sequence would be one that was already used.
  if (parts.rollback.isEvidenceBehind) return { status: 'refused', reason: 'evidence_missing' }
  for (;;) {
    const head = await readEvidenceHead(parts.database.read)
    const row = await findLatestAnchor(parts.database.read)
    const last = row === undefined ? undefined : readAnchor(row)
    if (last !== undefined && !(await isOwnAnchor(parts, last)))
      return refuse(parts, last, head, 'anchor_invalid_signature', cause)
    const isAnchored = last?.store_sequence === head.last_sequence && last.entry_digest === head.last_digest
    if (head.last_sequence === 0 || isAnchored) return { status: 'unchanged', text: row?.anchor_json ?? null }
    const reason = checkTime(parts, last) ?? (await findBreak(parts, last, head))
    // The boundary may have moved while the entries before it were read. Then the entries were removed, not lost.
    const { removed_through } = await readEvidenceHead(parts.database.read)
    if (reason !== undefined && removed_through !== head.removed_through) continue
    if (reason !== undefined) return refuse(parts, last, head, reason, cause)
    faultPoint('anchor-checked')
    const outcome = await storeAnchor(parts, row, await signAnchor(parts, last, head), cause, lease)
    if (outcome !== undefined) return outcome
  }
}

/** A row that was edited in the database could confirm a store that was rewritten with it. */
async function isOwnAnchor(parts: EvidenceParts, anchor: StoreAnchor): Promise<boolean> {
  return (await verifyReceived(asReceived(storeAnchorForm, anchor), ownKeysAt(parts.keys, anchor.anchored_at))).ok
}

/** An anchor dated in the future was made by a wrong clock. Nothing may be dated before it. */
function checkTime(parts: EvidenceParts, last: StoreAnchor | undefined): string | undefined {
  if (last === undefined || !isInFuture(instantOf(last.anchored_at), parts.clock.now())) return undefined
  reportInFuture(parts, 'evidence-anchors', instantOf(last.anchored_at))
  return 'anchor_in_the_future'
}

/** Returns why the store does not continue from the last anchor. Undefined when it does. */
async function findBreak(
  parts: EvidenceState,
  last: StoreAnchor | undefined,
  head: EvidenceHeadRow,
): Promise<string | undefined> {
  if (last !== undefined && head.last_sequence < last.store_sequence) return 'head_below_anchor'
  let start = { after: 0, digest: null as string | null }
  if (head.removed_through > 0) {
    const boundary = await readBoundary(parts.database.read)
    const isGood =
      boundary?.removed_through_sequence === head.removed_through &&
      (await verifyReceived(asReceived(retentionCheckpointForm, boundary), parts.keys.all)).ok
    if (!isGood) return 'anchored_entry_missing'
    start = { after: head.removed_through, digest: boundary.last_removed_entry_digest }
  }
  if (last !== undefined && last.store_sequence > start.after) {
    const [row] = await readLines(parts.database.read, {
      after: last.store_sequence - 1,
      through: last.store_sequence,
      limit: 1,
    })
    if (row === undefined) return 'anchored_entry_missing'
    const found = await parts.storeVerifier.links(parts, {
      after: last.store_sequence - 1,
      // The link to the predecessor in the anchored entry. The anchor does not depend on whether that link is right.
      digest: readEventLine(row.line)?.entry.prev_entry_digest ?? null,
      through: last.store_sequence,
    })
    if (!('digest' in found) || found.digest !== last.entry_digest) return 'anchor_mismatch'
    start = { after: last.store_sequence, digest: last.entry_digest }
  }
  const run = await parts.storeVerifier.links(parts, { ...start, through: head.last_sequence })
  if (!('digest' in run)) return 'entry_mismatch'
  return run.digest === head.last_digest ? undefined : 'head_mismatch'
}

async function signAnchor(
  parts: EvidenceParts,
  last: StoreAnchor | undefined,
  head: EvidenceHeadRow,
): Promise<StoreAnchor> {
  const facts = {
    sovereign_id: parts.network.name,
    store_sequence: head.last_sequence,
    entry_digest: head.last_digest ?? '',
    anchored_at: writeInstant(dateAfter(parts, 'evidence-anchors', last && instantOf(last.anchored_at))),
    issued_by: parts.signing.keyId,
  }
  const sealed = await parts.signing.signForm(storeAnchorForm, draftStoreAnchor(facts, last))
  faultPoint('anchor-signed')
  return sealed
}

/** Undefined when another instance was faster and did not cover this head. Then all checks are repeated. */
async function storeAnchor(
  parts: EvidenceParts,
  previous: AnchorRow | undefined,
  anchor: StoreAnchor,
  cause: JsonObject,
  lease: Lease | undefined,
): Promise<AnchorOutcome | undefined> {
  const { anchor_sequence, store_sequence, anchored_at } = anchor
  const outcome = await parts.database.write(async (tx): Promise<AnchorOutcome | undefined> => {
    if (lease !== undefined) await checkLease(tx, lease)
    await tx.lock('evidence-anchors')
    const latest = await findLatestAnchor(tx.query)
    if (latest?.anchor_sequence !== previous?.anchor_sequence)
      return latest !== undefined && latest.store_sequence >= store_sequence
        ? { status: 'unchanged', text: latest.anchor_json }
        : undefined
    const text = writeJson(asJson(anchor))
    await insertAnchor(tx, {
      anchor_sequence,
      store_sequence,
      anchor_json: text,
      anchored_at: writeSortable(instantOf(anchored_at)),
    })
    // The high-water mark follows the versions, and contains the last anchor.
    await tx.raiseVersion('evidence-anchors')
    faultPoint('anchor-stored')
    await parts.audit.record(tx, {
      type: 'evidence_anchored',
      details: { anchor_sequence, store_sequence, ...cause },
    })
    return { status: 'anchored', text }
  })
  faultPoint('anchor-committed')
  return outcome
}

async function refuse(
  parts: EvidenceParts,
  last: StoreAnchor | undefined,
  head: EvidenceHeadRow,
  reason: string,
  cause: JsonObject,
): Promise<AnchorOutcome> {
  const details = {
    anchor_sequence: last?.anchor_sequence ?? null,
    store_sequence: head.last_sequence,
    reason,
    ...cause,
  }
  await parts.audit.recordAlone([{ type: 'evidence_anchor_refused', details }])
  return { status: 'refused', reason }
}
