import {
  FormError,
  JsonError,
  anchorDigest,
  asJson,
  executionEvidenceForm,
  instantOf,
  orderAnchors,
  readEventLine,
  readJson,
  readReceived,
  recordDigest,
  storeAnchorForm,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { ReadEvent, StoreAnchor, StoreHead } from '@chancery/protocol'
import { type EvidenceParts, readAnchor } from './store-verifier.ts'
import type { Head } from '../../rollback/mark-file.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { type NewEntry, lockEvidenceHead, toStoreHead, writeChain } from './queries/chain.ts'
import { EntryRoom } from '../../database/partitions/evidence-partitions.ts'
import { inspectStore, readAnchors } from './verify-store.ts'
import { findLatestAnchor, insertAnchor } from './queries/entries.ts'

/** The evidence to import. */
export interface EvidenceExport {
  /** Lines of an export, in order. They may begin before the missing ones. Each call reads from the start. */
  readonly lines: () => AsyncIterable<string>
  /** Saved anchors, each as its text. */
  readonly anchors: readonly string[]
}

export interface EvidenceImportResult {
  readonly entries: number
  readonly anchors: number
  readonly lastSequence: number
}

/** Why evidence was not imported: the files lack some of it, none is missing, or the database is rolled back. */
type ImportRefusal = 'evidence_not_imported' | 'evidence_complete' | 'recovery_needed'

/** Nothing was changed. */
export class EvidenceImportError extends Error {
  override readonly name = 'EvidenceImportError'
  readonly code: ImportRefusal

  constructor(message: string, options: ErrorOptions & { readonly code?: ImportRefusal } = {}) {
    super(message, options)
    this.code = options.code ?? 'evidence_not_imported'
  }
}

const BATCH = 500

/**
 * Imports the evidence that a restored database lacks, in one audited transaction: each line after its own head up to
 * the one in the high-water mark, then every anchor. The mark is signed and has the digest at its position, and each
 * line links to its predecessor, so nothing can be inserted. Afterwards the whole store is verified.
 */
export async function reimportEvidence(parts: EvidenceParts, stored: EvidenceExport): Promise<EvidenceImportResult> {
  const { rollback, database } = parts
  const { mark } = rollback
  if (mark === undefined || !rollback.isEvidenceBehind)
    throw new EvidenceImportError('no evidence is missing', { code: 'evidence_complete' })
  // The import raises the anchor version. If only that version shows the rollback, the rollback would not be detected
  // any more: no replay floor would be set, and invites used after the backup would work again (reliability 12.3).
  if (rollback.isHalted()) throw new EvidenceImportError(rollback.haltText, { code: 'recovery_needed' })
  const reimported = await database.write(
    async (tx) => {
      await tx.lock('evidence-anchors')
      const { entries, head } = await appendLines(tx, parts, stored, mark.evidence)
      const anchors = await appendAnchors(tx, stored.anchors, mark.anchor ?? null)
      await verifyWholeStore(tx.query, parts)
      // Instances check again when a version has changed.
      await tx.raiseVersion('evidence-anchors')
      const details = { entries, anchors, last_sequence: head.store_sequence }
      await parts.audit.record(tx, { type: 'evidence_reimported', details })
      return { entries, anchors, lastSequence: head.store_sequence }
    },
    { unlimited: true },
  )
  await rollback.writeMark()
  return reimported
}

async function appendLines(
  tx: Transaction,
  parts: EvidenceParts,
  { lines }: EvidenceExport,
  mark: Head | null,
): Promise<{ readonly entries: number; readonly head: StoreHead }> {
  const room = new EntryRoom(parts.database)
  const locked = await lockEvidenceHead(tx)
  // The counters of budgets do not include what is imported: they are computed again from the entries.
  const { budget_sequence } = locked
  let head = toStoreHead(locked)
  let entries = 0
  let batch: NewEntry[] = []
  const write = async (): Promise<void> => {
    const last = batch.at(-1)
    if (last === undefined) return
    const { store_sequence, recorded_at } = last.entry
    const last_recorded_at = writeSortable(instantOf(recorded_at))
    await room.ensure(tx, store_sequence, batch[0]?.entry.store_sequence ?? store_sequence)
    const moved = { last_sequence: store_sequence, last_digest: last.entry_digest, last_recorded_at, budget_sequence }
    await writeChain(tx, { entries: batch, head: moved, rejected: 0, audits: [] })
    entries += batch.length
    batch = []
  }
  for await (const line of lines()) {
    const event = readIntactLine(line)
    const { store_sequence } = event.entry
    checkPresent(event, head, mark)
    if (store_sequence <= head.store_sequence) continue
    batch.push(follow(head, event, line))
    head = { store_sequence, entry_digest: event.entryDigest }
    if (batch.length === BATCH) await write()
  }
  await write()
  if (mark !== null && head.store_sequence < mark.sequence)
    throw new EvidenceImportError(
      `the export ends at entry ${head.store_sequence}, and ${mark.sequence} were acknowledged`,
    )
  return { entries, head }
}

function readIntactLine(line: string): ReadEvent {
  const event = readEventLine(line)
  if (event === undefined) throw new EvidenceImportError('a line of the export is not an evidence event')
  const { store_sequence, payload_digest } = event.entry
  if (!event.canonical || event.claimedDigest !== event.entryDigest || event.payloadDigest !== payload_digest)
    throw new EvidenceImportError(`entry ${store_sequence} of the export was changed`)
  return event
}

/** Where the database or the mark has a digest, the export must have the same. */
function checkPresent({ entry, entryDigest }: ReadEvent, head: StoreHead, mark: Head | null): void {
  const known = [
    ...(entry.store_sequence === head.store_sequence ? [head.entry_digest] : []),
    ...(entry.store_sequence === mark?.sequence ? [mark.digest] : []),
  ]
  if (known.some((digest) => digest !== entryDigest))
    throw new EvidenceImportError(`entry ${entry.store_sequence} of the export does not match the stored digest`)
}

function follow(head: StoreHead, event: ReadEvent, line: string): NewEntry {
  const { entry, entryDigest: entry_digest } = event
  const { store_sequence, entry_kind, prev_entry_digest } = entry
  if (store_sequence !== head.store_sequence + 1 || prev_entry_digest !== head.entry_digest)
    throw new EvidenceImportError(`entry ${store_sequence} of the export does not follow entry ${head.store_sequence}`)
  if (entry_kind === 'retention_checkpoint')
    throw new EvidenceImportError(
      `entry ${store_sequence} removed older entries: retention after the backup cannot be imported; use a newer backup`,
    )
  return { entry, entry_digest, line, record_digest: entry_kind === 'execution' ? digestOfRecord(event) : null }
}

function digestOfRecord({ entry, payload }: ReadEvent): string {
  try {
    return recordDigest(readReceived(executionEvidenceForm, payload))
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    throw new EvidenceImportError(`entry ${entry.store_sequence} of the export is no execution`, { cause: error })
  }
}

async function appendAnchors(tx: Transaction, texts: readonly string[], mark: Head | null): Promise<number> {
  const latest = await findLatestAnchor(tx.query)
  let last: StoreAnchor | undefined = latest === undefined ? undefined : readAnchor(latest)
  let added = 0
  const { anchors, fork } = orderAnchors([...(await readAnchors(tx.query)), ...texts.map(readAnchorFile)])
  // One of the two is of another history, and nothing here proves which.
  if (fork !== undefined) throw new EvidenceImportError(`anchor ${fork} has two contents`)
  for (const anchor of anchors) {
    const { anchor_sequence, store_sequence, anchored_at } = anchor
    if (anchor_sequence <= (last?.anchor_sequence ?? 0)) continue
    const before = last === undefined ? undefined : anchorDigest(last)
    if (anchor_sequence !== (last?.anchor_sequence ?? 0) + 1 || anchor.previous_anchor_digest !== before)
      throw new EvidenceImportError(`anchor ${anchor_sequence} does not follow anchor ${last?.anchor_sequence ?? 0}`)
    const at = writeSortable(instantOf(anchored_at))
    await insertAnchor(tx, { anchor_sequence, store_sequence, anchor_json: writeJson(asJson(anchor)), anchored_at: at })
    last = anchor
    added += 1
  }
  if (mark !== null && (last?.anchor_sequence ?? 0) < mark.sequence)
    throw new EvidenceImportError(
      `the anchors end at ${last?.anchor_sequence ?? 0}, and ${mark.sequence} were made: give --anchors`,
    )
  return added
}

function readAnchorFile(text: string): StoreAnchor {
  try {
    return readReceived(storeAnchorForm, readJson(text)).record
  } catch (error) {
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    throw new EvidenceImportError('a file of the anchors is not an anchor', { cause: error })
  }
}

/** Signatures are verified as well, because nothing else proves entries after the mark, and anchors. */
async function verifyWholeStore(tx: Reader, { keys, network }: EvidenceParts): Promise<void> {
  const report = await inspectStore(tx, { publicKeys: keys.all, sovereign: network.name })
  const failures = report['failures'] as readonly { readonly store_sequence: number | null; readonly reason: string }[]
  const [first] = failures
  if (first !== undefined)
    throw new EvidenceImportError(
      `${failures.length} entries would not verify; the first is ${first.store_sequence ?? 'an anchor'}: ${first.reason}. Register executor keys again that were registered after the backup`,
    )
}
