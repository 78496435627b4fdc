import { HOUR, SECOND, isJsonObject, partKey, readJson, readInstant, seconds, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { RevocationFeedsParts } from './peers.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { ReasonedId } from './feed-text.ts'

/**
 * How long a revocation counts when the end of its attestation is unknown, because it was recovered after a restore.
 */
const UNKNOWN_END = 26_280n * HOUR

/** Revocations of other instances may be dated by a clock that is slightly slow. */
const LOOK_BACK = seconds(120)

const PAGE_ROWS = 2000

/** So many added ids are handed on. */
const FEW = 1000

/** The content of a new version: the number of ids, and the changed part keys. */
export interface SyncedIds {
  readonly added: number
  /** The added ids when there are few of them. */
  readonly addedIds: readonly ReasonedId[]
  readonly removed: number
  readonly touched: ReadonlySet<number>
}

/**
 * Updates the ids of the feed: adds new revocations, removes those that ended long ago, and restores those that a clock
 * that was ahead removed too early. `since` is the date of the last version; undefined compares all.
 */
export async function syncFeedIds(
  tx: Transaction,
  parts: RevocationFeedsParts,
  since: Instant | undefined,
): Promise<SyncedIds> {
  const now = parts.clock.now()
  const touched = new Touched()
  const from = since === undefined ? '' : writeSortable((since < now ? since : now) - LOOK_BACK)
  let added = await addRevoked(tx, from, touched)
  if (since === undefined) added += await addIncomplete(tx, now, touched)
  added += await addRecovered(tx, now, touched)
  const margin = BigInt(parts.settings.feedPruneMarginSeconds) * SECOND
  let removed = 0
  for (const [end_known, end] of [
    [1, writeSortable(now - margin)],
    [0, writeSortable(now)],
  ] as const) {
    removed += await prune(tx, end_known, end, touched)
    added += await restore(tx, end_known, end, touched)
  }
  return { added, removed, touched, addedIds: touched.added }
}

/** The changed part keys, with the first added ids. */
class Touched extends Set<number> {
  readonly added: ReasonedId[] = []
}

interface RevokedRow {
  readonly attestation_id: string
  readonly attestation_json: string
  readonly revocation_reason: string | null
  readonly revoked_at: string
}

async function addRevoked(tx: Transaction, from: string, touched: Touched): Promise<number> {
  let added = 0
  let last = { revoked_at: from, attestation_id: '' }
  for (;;) {
    const rows = await pageUnlisted(tx.query, last)
    added += await insertIds(tx, rows, touched)
    const end = rows.at(-1)
    if (end === undefined || rows.length < PAGE_ROWS) return added
    last = end
  }
}

/** Revoked attestations after a position that the feed lacks. */
async function pageUnlisted(
  tx: Reader,
  last: Pick<RevokedRow, 'revoked_at' | 'attestation_id'>,
): Promise<readonly RevokedRow[]> {
  const rows = await tx
    .selectFrom('membership_attestations as a')
    .select(['a.attestation_id', 'a.attestation_json', 'a.revocation_reason', 'a.revoked_at'])
    .where('a.status', '=', 'revoked')
    .where((eb) =>
      eb(eb.refTuple('a.revoked_at', 'a.attestation_id'), '>', eb.tuple(last.revoked_at, last.attestation_id)),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom('own_feed_ids as f').select('f.part_key').whereRef('f.attestation_id', '=', 'a.attestation_id'),
        ),
      ),
    )
    .orderBy('a.revoked_at')
    .orderBy('a.attestation_id')
    .limit(PAGE_ROWS)
    .execute()
  return rows.map((row) => ({ ...row, revoked_at: row.revoked_at ?? '' }))
}

/** A row without its revocation time was edited by hand. It still counts as revoked. */
async function addIncomplete(tx: Transaction, now: Instant, touched: Touched): Promise<number> {
  const rows = await tx.query
    .selectFrom('membership_attestations')
    .select(['attestation_id', 'attestation_json', 'revocation_reason'])
    .where('status', '=', 'revoked')
    .where('revoked_at', 'is', null)
    .execute()
  return insertIds(
    tx,
    rows.map((row) => ({ ...row, revoked_at: writeSortable(now) })),
    touched,
  )
}

async function addRecovered(tx: Transaction, now: Instant, touched: Touched): Promise<number> {
  const rows = await tx.query
    .selectFrom('recovered_revocations as r')
    .select(['r.attestation_id', 'r.revocation_reason'])
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom('own_feed_ids as f').select('f.part_key').whereRef('f.attestation_id', '=', 'r.attestation_id'),
        ),
      ),
    )
    .execute()
  const revoked_at = writeSortable(now)
  return insertIds(
    tx,
    rows.map((row) => ({ ...row, attestation_json: '', revoked_at })),
    touched,
    writeSortable(now + UNKNOWN_END),
  )
}

/** Existing ids stay as they are. */
async function insertIds(
  tx: Transaction,
  rows: readonly RevokedRow[],
  touched: Touched,
  unknownEnd?: string,
): Promise<number> {
  let added = 0
  for (let at = 0; at < rows.length; at += 1000) {
    const values = rows.slice(at, at + 1000).map((row) => {
      const end = endOf(row.attestation_json)
      return {
        attestation_id: row.attestation_id,
        part_key: partKey(row.attestation_id),
        revoked_at: row.revoked_at,
        reason: row.revocation_reason ?? 'unspecified',
        ends_at: end ?? unknownEnd ?? FAR_END,
        end_known: end === undefined ? 0 : 1,
        pruned: 0,
      }
    })
    const inserted = await tx.query
      .insertInto('own_feed_ids')
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .returning(['part_key', 'attestation_id', 'revoked_at', 'reason'])
      .execute()
    for (const { part_key, ...row } of inserted) {
      touched.add(part_key)
      if (touched.added.length < FEW) touched.added.push(row)
    }
    added += inserted.length
  }
  return added
}

/** An unreadable attestation keeps its id in the feed. */
const FAR_END = writeSortable(readInstant('9999-12-31T23:59:59Z') ?? 0n)

function endOf(text: string): string | undefined {
  if (text === '') return undefined
  const record = readJson(text)
  const end = isJsonObject(record) ? record['expires_at'] : undefined
  const at = typeof end === 'string' ? readInstant(end) : undefined
  return at === undefined ? undefined : writeSortable(at)
}

async function prune(tx: Transaction, end_known: number, end: string, touched: Touched): Promise<number> {
  const rows = await tx.query
    .updateTable('own_feed_ids')
    .set({ pruned: 1 })
    .where('pruned', '=', 0)
    .where('end_known', '=', end_known)
    .where('ends_at', '<', end)
    .returning('part_key')
    .execute()
  for (const { part_key } of rows) touched.add(part_key)
  return rows.length
}

async function restore(tx: Transaction, end_known: number, end: string, touched: Touched): Promise<number> {
  const rows = await tx.query
    .updateTable('own_feed_ids')
    .set({ pruned: 0 })
    .where('pruned', '=', 1)
    .where('end_known', '=', end_known)
    .where('ends_at', '>=', end)
    .returning('part_key')
    .execute()
  for (const { part_key } of rows) touched.add(part_key)
  return rows.length
}
