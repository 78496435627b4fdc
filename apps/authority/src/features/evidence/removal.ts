import { Refusal } from '@chancery/contract'
import {
  asJson,
  draftRetentionCheckpoint,
  readEventLine,
  retentionCheckpointForm,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject, ResourceHead, RetentionCheckpoint } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { EvidenceState } from './resources.ts'
import type { Reader } from '../../database/database.ts'
import { type EvidenceHeadRow, lockEvidenceHead, readEvidenceHead } from './queries/chain.ts'
import { type Lease, checkLease, withLease } from '../../database/locks/leases.ts'
import { AppendBatch } from './append-batch.ts'
import { readBoundary } from './verify-store.ts'
import { type Prefix, type StoppedBy, findPrefix, isTouchedSince } from './prefix.ts'
import { deleteThrough, insertCheckpoint, moveBoundary, readLines, storeRemovedHeads } from './queries/entries.ts'
import { dropRemovedPartitions } from './drop-partitions.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { listPartitionsThrough } from '../../database/partitions/layout.ts'

/** Rows per deleting transaction: few enough that appends are hardly delayed. */
const ROWS = 10_000
const LEASE_SECONDS = 300

/**
 * Drops partitions before the boundary, then deletes the rows before it in the first partition that stays. Every
 * transaction compares the lease, so a paused sweep cannot act late.
 */
async function sweep(parts: EvidenceParts, lease: Lease, signal?: AbortSignal): Promise<void> {
  const { removed_through } = await readEvidenceHead(parts.database.read)
  // A partition that is read now is dropped by a later sweep. Its entries are hidden.
  if (!(await dropRemovedPartitions(parts, lease, removed_through, signal))) return
  for (;;) {
    const deleted = await parts.database.write(async (tx) => {
      await checkLease(tx, lease)
      return deleteThrough(tx, removed_through, ROWS)
    })
    faultPoint('retention-swept')
    if (deleted === 0 || signal?.aborted === true) return
  }
}

/** Finishes the deletion after a crash or a stop. Otherwise there is nothing to do. */
export async function sweepRemoved(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  if (!parts.settings.evidenceStore) return
  const db = parts.database.read
  const { removed_through } = await readEvidenceHead(db)
  const first = await db
    .selectFrom('evidence_entries')
    .select('store_sequence')
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  const hasRows = first !== undefined && first.store_sequence <= removed_through
  if (!hasRows && (await listPartitionsThrough(parts.database, EVIDENCE, removed_through)).length === 0) return
  await withLease(parts, 'evidence-retention', LEASE_SECONDS, (lease) => sweep(parts, lease, signal))
}

export interface RetentionRun {
  readonly lease: Lease
  readonly now: Instant
  readonly cutoff: Instant
  /** The last entry to remove at most. */
  readonly through?: number | undefined
  readonly cause: JsonObject
}

/**
 * Removes a verified prefix (protocol/trust-operations 6.11). It is found and verified without a lock. Then one short
 * transaction stores the signed boundary and appends it to the chain, which hides the prefix. Rows are deleted
 * afterwards in batches. After a crash in between, the next sweep continues.
 */
export async function removePrefix(parts: EvidenceState, run: RetentionRun): Promise<string> {
  for (;;) {
    const head = await readEvidenceHead(parts.database.read)
    const previous = await readBoundary(parts.database.read)
    const heads = Object.keys(previous?.resource_heads ?? {})
    const { cutoff, now, through } = run
    const prefix = await findPrefix(parts.database.read, head, { cutoff, now, through, heads })
    faultPoint('retention-found')
    if (prefix.through <= head.removed_through) return removeNothing(parts, run, prefix.stoppedBy)
    await verifyPrefix(parts, prefix)
    // Digests of removed entries stay in the log, so they must be in the log before the removal.
    await parts.listeners.prepareRemoval()
    faultPoint('retention-verified')
    const checkpoint = await storeBoundary(parts, run, head, prefix, previous)
    if (checkpoint === undefined) continue
    faultPoint('retention-committed')
    await sweepNow(parts, run.lease)
    const { removed_count } = checkpoint
    const text = writeJson(asJson(checkpoint))
    return `{"removed_count":${removed_count},"checkpoint":${text},"stopped_by":"${prefix.stoppedBy}"}`
  }
}

/**
 * The checkpoint is stored whatever happens to the rows before it: they are hidden, and the next sweep deletes them.
 */
async function sweepNow(parts: EvidenceState, lease: Lease): Promise<void> {
  try {
    await sweep(parts, lease)
  } catch (error) {
    parts.log.warn('removed entries are hidden, but not deleted yet: the sweep continues within a minute', { error })
  }
}

async function removeNothing(parts: EvidenceState, run: RetentionRun, stoppedBy: StoppedBy): Promise<string> {
  const details = { checkpoint_id: null, removed_count: 0, removed_through_sequence: null, ...run.cause }
  await parts.audit.recordAlone([{ type: 'evidence_retention_applied', details }])
  return `{"removed_count":0,"checkpoint":null,"stopped_by":"${stoppedBy}"}`
}

/** An entry that does not verify must not be removed. */
async function verifyPrefix(parts: EvidenceState, prefix: Prefix): Promise<void> {
  const { failures } = await parts.storeVerifier.prefix(parts, prefix.through)
  if (failures.length > 0) throw new Refusal('conflict', { reason: 'store_verification_failed' })
}

/** Undefined when a decision of the prefix got another entry in the meantime. Then the prefix is searched again. */
async function storeBoundary(
  parts: EvidenceState,
  run: RetentionRun,
  before: EvidenceHeadRow,
  prefix: Prefix,
  previous: RetentionCheckpoint | undefined,
): Promise<RetentionCheckpoint | undefined> {
  const heads = await gatherHeads(parts.database.read, previous, before.removed_through, prefix.through)
  const checkpoint = await signCheckpoint(parts, run, before, prefix.through, previous, heads.all)
  faultPoint('retention-signed')
  return parts.database.write(async (tx) => {
    await checkLease(tx, run.lease)
    const head = await lockEvidenceHead(tx)
    if (head.removed_through !== before.removed_through) return undefined
    if (await isTouchedSince(tx.query, prefix.readThrough, prefix.through)) return undefined
    const text = writeJson(asJson(checkpoint))
    await insertCheckpoint(tx, {
      removed_through_sequence: prefix.through,
      checkpoint_id: checkpoint.checkpoint_id,
      checkpoint_json: text,
      created_at: writeSortable(run.now),
    })
    await storeRemovedHeads(tx, heads.changed)
    await moveBoundary(tx, prefix.through)
    const batch = new AppendBatch(parts, head)
    batch.appendCheckpoint(checkpoint)
    const { checkpoint_id, removed_count, removed_through_sequence } = checkpoint
    const details = { checkpoint_id, removed_count, removed_through_sequence, ...run.cause }
    batch.addEvent({ type: 'evidence_retention_applied', details })
    await batch.write(tx)
    faultPoint('retention-stored')
    return checkpoint
  })
}

interface Heads {
  readonly all: ReadonlyMap<string, ResourceHead>
  readonly changed: readonly (ResourceHead & { readonly resource_id: string })[]
}

/** The heads of the previous checkpoint, replaced by the last removed record of each resource. */
async function gatherHeads(
  db: Reader,
  previous: RetentionCheckpoint | undefined,
  after: number,
  through: number,
): Promise<Heads> {
  const all = new Map(Object.entries(previous?.resource_heads ?? {}))
  const changed = new Map<string, ResourceHead & { readonly resource_id: string }>()
  for (let last = after; last < through;) {
    const rows = await db
      .selectFrom('evidence_entries')
      .select(['store_sequence', 'resource_id', 'resource_sequence', 'record_digest'])
      .where('store_sequence', '>', last)
      .where('store_sequence', '<=', through)
      .orderBy('store_sequence')
      .limit(5000)
      .execute()
    for (const { resource_id, resource_sequence, record_digest } of rows) {
      if (resource_id === null || resource_sequence === null || record_digest === null) continue
      all.set(resource_id, { resource_sequence, record_digest })
      changed.set(resource_id, { resource_id, resource_sequence, record_digest })
    }
    last = rows.at(-1)?.store_sequence ?? through
  }
  return { all, changed: [...changed.values()] }
}

async function signCheckpoint(
  parts: EvidenceState,
  run: RetentionRun,
  before: EvidenceHeadRow,
  through: number,
  previous: RetentionCheckpoint | undefined,
  heads: ReadonlyMap<string, ResourceHead>,
): Promise<RetentionCheckpoint> {
  const [last] = await readLines(parts.database.read, { after: through - 1, through, limit: 1 })
  const digest = last === undefined ? undefined : readEventLine(last.line)?.entryDigest
  if (digest === undefined) throw new Refusal('conflict', { reason: 'store_verification_failed' })
  const draft = draftRetentionCheckpoint({
    checkpoint_id: parts.ids.uuid(),
    created_at: writeInstant(run.now),
    cutoff: writeInstant(run.cutoff),
    removed_through_sequence: through,
    last_removed_entry_digest: digest,
    removed_count: through - before.removed_through,
    heads,
    previous_checkpoint_id: previous?.checkpoint_id ?? null,
    issued_by: parts.signing.keyId,
  })
  return parts.signing.signForm(retentionCheckpointForm, draft)
}
