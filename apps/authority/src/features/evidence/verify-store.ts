import {
  AnchorChecker,
  FormError,
  JsonError,
  StoreChecker,
  lineShortcuts,
  readEventLine,
  readInstant,
  readJson,
  readOrUndefined,
  readReceived,
  reportJson,
  retentionCheckpointForm,
  storeAnchorForm,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type {
  CheckedLine,
  JsonObject,
  RetentionCheckpoint,
  StoreAnchor,
  StoreKeys,
  StoreReport,
} from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import { type EvidenceHeadRow, readEvidenceHead } from './queries/chain.ts'
import { findLatestCheckpoint, listAnchors, listExecutorKeys, readSlice } from './queries/entries.ts'
import type { AnchorRow, EntryRow, Run } from './queries/entries.ts'

/** The owner of the store, whose keys are the only trust input. */
export interface StoreIdentity {
  readonly publicKeys: readonly string[]
  readonly sovereign: string
}

/** Page size for anchors, which all have the same size. */
const PAGE = 500
/** Page size for entries, whatever the size of their lines. */
const SLICE = { rows: 500, bytes: 4 * 1024 * 1024 }
/** A checkpoint names all resources that were ever removed. It is our own text, not a request. */
const ANY_COUNT = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }
const MAX_ROUNDS = 3

/**
 * Verifies the whole store by protocol/trust-operations 6.9. Rows are read page by page, and only their lines are
 * trusted. A column that differs from its line is reported as a separate failure.
 */
export async function inspectStore(db: Reader, identity: StoreIdentity): Promise<JsonObject> {
  for (let round = 1; ; round += 1) {
    const head = await readEvidenceHead(db)
    const { checker, anchors } = await openChecker(db, identity)
    await feedRows(db, checker, { after: head.removed_through, through: head.last_sequence })
    checkEnd(checker, head)
    const stray = await findStray(db)
    if (stray !== undefined) checker.blame(stray, 'store_sequence_gap', 'head')
    const report = await checker.finish()
    const { removed_through } = await readEvidenceHead(db)
    // Retention ran in the meantime, so missing entries may have been removed.
    if (removed_through === head.removed_through || round === MAX_ROUNDS)
      // Those outside of the chain are counted as in the status.
      return reportJson({ ...report, rejections: report.rejections + head.rejections }, { anchors: anchors.report() })
  }
}

/** Verifies the entries after the boundary up to a position, with digests and signatures. */
export async function inspectPrefix(db: Reader, identity: StoreIdentity, through: number): Promise<StoreReport> {
  const head = await readEvidenceHead(db)
  const keys = await readKeys(db, identity)
  const checker = new StoreChecker({ keys, scope: 'store', boundary: await readBoundary(db), shortcuts: lineShortcuts })
  await feedRows(db, checker, { after: head.removed_through, through })
  return checker.finish()
}

/** Verifies lines that were already read for a view. */
export async function inspectView(
  db: Reader,
  identity: StoreIdentity,
  lines: readonly string[],
  resource: string | undefined,
): Promise<StoreReport> {
  const keys = await readKeys(db, identity)
  const boundary = await readBoundary(db)
  const asked = resource === undefined ? {} : { resource }
  const checker = new StoreChecker({ keys, scope: 'view', boundary, ...asked })
  for (const line of lines) await checker.add(line)
  return checker.finish()
}

/**
 * Verifies links, digests and payload digests of a range. Returns the first invalid position, or the digest at its end.
 */
export async function inspectLinks(
  db: Reader,
  run: Run & { readonly digest: string | null },
): Promise<{ readonly broken: number } | { readonly digest: string | null }> {
  let [sequence, digest] = [run.after, run.digest]
  for await (const row of readRows(db, run)) {
    const event = readEventLine(row.line)
    const isNext =
      event?.canonical === true &&
      event.entry.store_sequence === sequence + 1 &&
      event.entry.prev_entry_digest === digest &&
      event.claimedDigest === event.entryDigest &&
      event.payloadDigest === event.entry.payload_digest
    if (!isNext) return { broken: sequence + 1 }
    sequence += 1
    digest = event.entryDigest
  }
  return sequence === run.through ? { digest } : { broken: sequence + 1 }
}

async function openChecker(
  db: Reader,
  identity: StoreIdentity,
): Promise<{ readonly checker: StoreChecker; readonly anchors: AnchorChecker }> {
  const keys = await readKeys(db, identity)
  const anchors = await AnchorChecker.open(await readAnchors(db), keys.authority, identity.sovereign)
  return {
    checker: new StoreChecker({
      keys,
      scope: 'store',
      boundary: await readBoundary(db),
      anchors,
      shortcuts: lineShortcuts,
    }),
    anchors,
  }
}

export async function readKeys(db: Reader, { publicKeys }: StoreIdentity): Promise<StoreKeys> {
  const executors = new Map((await listExecutorKeys(db)).map((key) => [key.key_id, key]))
  return { authority: publicKeys, executor: (key_id) => executors.get(key_id) }
}

/**
 * Returns the latest checkpoint. An unreadable one covers nothing, and the store then does not begin at the right
 * entry.
 */
export async function readBoundary(db: Reader): Promise<RetentionCheckpoint | undefined> {
  const row = await findLatestCheckpoint(db)
  if (row === undefined) return undefined
  return readOrUndefined(() => readReceived(retentionCheckpointForm, readJson(row.checkpoint_json, ANY_COUNT)).record)
}

/** All stored anchors, in order. */
export async function readAnchors(db: Reader): Promise<readonly StoreAnchor[]> {
  const anchors: StoreAnchor[] = []
  for (;;) {
    const rows = await listAnchors(db, anchors.at(-1)?.anchor_sequence ?? 0, PAGE)
    anchors.push(...rows.map(readAnchorRow))
    if (rows.length < PAGE) return anchors
  }
}

/**
 * A row whose text is not an anchor is treated as an unsigned anchor, so that the report names it and does not fail.
 */
function readAnchorRow({ anchor_sequence, store_sequence, anchor_json }: AnchorRow): StoreAnchor {
  try {
    return readReceived(storeAnchorForm, readJson(anchor_json)).record
  } catch (error) {
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    const unsigned = { sovereign_id: '', entry_digest: '', issued_by: '', signature: null }
    return { anchor_sequence, store_sequence, anchored_at: writeInstant(0n), ...unsigned }
  }
}

async function* readRows(db: Reader, { after, through }: Run): AsyncGenerator<EntryRow> {
  for (let last = after; last < through;) {
    const rows = await readSlice(db, { after: last, through }, SLICE)
    yield* rows
    last = rows.at(-1)?.store_sequence ?? through
  }
}

async function feedRows(db: Reader, checker: StoreChecker, run: Run): Promise<void> {
  for await (const row of readRows(db, run)) {
    const checked = await checker.add(row.line)
    const column = checked === undefined ? undefined : findFalseColumn(row, checked)
    if (column !== undefined) checker.blame(row.store_sequence, 'entry_digest_mismatch', `column ${column}`)
  }
}

/** The store must end at the sequence of its head row, because rows missing at the end leave no gap. */
function checkEnd(checker: StoreChecker, head: EvidenceHeadRow): void {
  if (checker.lastSequence !== head.last_sequence) checker.blame(checker.lastSequence + 1, 'store_sequence_gap', 'head')
  else if (head.last_sequence > head.removed_through && checker.lastDigest !== head.last_digest)
    checker.blame(head.last_sequence, 'store_chain_break', 'head')
}

/** Finds a row after the head, which no append has written. One statement, because an append changes both at once. */
async function findStray(db: Reader): Promise<number | undefined> {
  const row = await db
    .selectFrom('evidence_entries')
    .select((eb) => eb.fn.min<number | null>('store_sequence').as('first'))
    .where('store_sequence', '>', (eb) => eb.selectFrom('evidence_head').select('last_sequence').where('id', '=', 1))
    .executeTakeFirst()
  return row?.first ?? undefined
}

const COPIED = [
  'store_sequence',
  'entry_kind',
  'decision_id',
  'vendor_id',
  'attestation_id',
  'capability',
  'outcome',
  'evidence_id',
  'exec_sequence_no',
  'resource_id',
  'resource_sequence',
] as const

/** A wrong column would hide an entry from searches, or let a position be used twice. */
function findFalseColumn(row: EntryRow, checked: CheckedLine): string | undefined {
  const { entry } = checked
  const copied = COPIED.find((name) => row[name] !== entry[name])
  if (copied !== undefined) return copied
  if (row.entry_digest !== checked.entryDigest) return 'entry_digest'
  if (row.record_digest !== checked.recordDigest) return 'record_digest'
  return row.recorded_at === writeSortable(readInstant(entry.recorded_at) ?? 0n) ? undefined : 'recorded_at'
}
