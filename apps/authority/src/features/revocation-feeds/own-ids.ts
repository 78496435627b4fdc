import { HOUR, SECOND, isJsonObject, partKey, readJson, readInstant, seconds, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { RevocationFeedsParts } from './feed-parts.ts'
import type { Tx } from '../../database/database.ts'

/** How long a withdrawal counts whose attestation's end nobody knows any more: it was recovered after a restore. */
const UNKNOWN_END = 26_280n * HOUR

/** Withdrawals of other instances may be dated by a clock that is a little behind. */
const LOOK_BACK = seconds(120)

const PAGE_ROWS = 2000

/** What a new version has to name: how many ids, and which part keys changed. */
export interface SyncedIds {
  readonly added: number
  readonly removed: number
  readonly touched: ReadonlySet<number>
}

/**
 * Brings the ids of the feed in line with what is withdrawn: new ones in, those that ended long ago out, and in again
 * when a clock that was ahead took them out too early. `since` is the date of the last version; undefined looks at all.
 */
export async function syncFeedIds(tx: Tx, parts: RevocationFeedsParts, since: Instant | undefined): Promise<SyncedIds> {
  const now = parts.clock.now()
  const touched = new Set<number>()
  const from = since === undefined ? '' : writeSortable((since < now ? since : now) - LOOK_BACK)
  let added = await addWithdrawn(tx, from, touched)
  if (since === undefined) added += await addHalfWithdrawn(tx, now, touched)
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
  return { added, removed, touched }
}

interface WithdrawnRow {
  readonly attestation_id: string
  readonly attestation_json: string
  readonly revocation_reason: string | null
  readonly revoked_at: string
}

async function addWithdrawn(tx: Tx, from: string, touched: Set<number>): Promise<number> {
  let added = 0
  let last = { revoked_at: from, attestation_id: '' }
  for (;;) {
    const rows = await pageUnlisted(tx, last)
    added += await insertIds(tx, rows, touched)
    const end = rows.at(-1)
    if (end === undefined || rows.length < PAGE_ROWS) return added
    last = end
  }
}

/** Withdrawn attestations behind a place that the feed does not know yet. */
async function pageUnlisted(
  tx: Tx,
  last: Pick<WithdrawnRow, 'revoked_at' | 'attestation_id'>,
): Promise<readonly WithdrawnRow[]> {
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

/** A row without its time of withdrawal was edited by hand; it is withdrawn all the same. */
async function addHalfWithdrawn(tx: Tx, now: Instant, touched: Set<number>): Promise<number> {
  const rows = await tx
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

async function addRecovered(tx: Tx, now: Instant, touched: Set<number>): Promise<number> {
  const rows = await tx
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

/** Ids that are there stay as they are. */
async function insertIds(
  tx: Tx,
  rows: readonly WithdrawnRow[],
  touched: Set<number>,
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
    const inserted = await tx
      .insertInto('own_feed_ids')
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .returning('part_key')
      .execute()
    for (const { part_key } of inserted) touched.add(part_key)
    added += inserted.length
  }
  return added
}

/** An attestation that cannot be read keeps its id in the feed. */
const FAR_END = writeSortable(readInstant('9999-12-31T23:59:59Z') ?? 0n)

function endOf(text: string): string | undefined {
  if (text === '') return undefined
  const record = readJson(text)
  const end = isJsonObject(record) ? record['expires_at'] : undefined
  const at = typeof end === 'string' ? readInstant(end) : undefined
  return at === undefined ? undefined : writeSortable(at)
}

async function prune(tx: Tx, end_known: number, end: string, touched: Set<number>): Promise<number> {
  const rows = await tx
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

async function restore(tx: Tx, end_known: number, end: string, touched: Set<number>): Promise<number> {
  const rows = await tx
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
