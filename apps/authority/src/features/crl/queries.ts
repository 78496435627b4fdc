import { type Instant, readInstant } from '@chancery/protocol'
import { sql } from 'kysely'
import { type Database, type Reader, type Transaction, assertStored } from '../../database/database.ts'
import { countOf } from '../../database/large-tables.ts'
import { type StoredList, findList, loadListText } from '../../database/list-segments.ts'

/** A version without its text, which may be megabytes. */
export interface CrlVersion {
  readonly sequence: number
  readonly issuedAt: Instant
  readonly nextUpdate: Instant
  readonly entries: number
  /** Size of its text. Undefined for a version of an earlier release. */
  readonly bytes?: number | undefined
}

/** The highest sequence is the active list. */
export async function findActiveVersion(db: Reader): Promise<CrlVersion | undefined> {
  const row = await db
    .selectFrom('crl_versions')
    .select(['sequence', 'issued_at', 'next_update', 'entries', 'bytes'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { sequence, entries } = row
  return {
    sequence,
    entries,
    bytes: row.bytes ?? undefined,
    issuedAt: readInstant(row.issued_at) ?? 0n,
    nextUpdate: readInstant(row.next_update) ?? 0n,
  }
}

export async function loadCrlText(db: Reader, sequence: number): Promise<string> {
  return loadListText(db, await loadList(db, sequence))
}

/** The stored form of a list with its signed head, which versions of earlier releases do not have. */
export async function loadList(db: Reader, sequence: number): Promise<StoredList> {
  const found = await findList(db, sequence)
  if (found === undefined) throw new Error(`the list ${sequence} is not stored`)
  return found
}

/** The sequence is the primary key: one sequence can have one content only. */
export async function insertVersion(
  tx: Transaction,
  row: {
    sequence: number
    crl_json: string
    head_json: string
    issued_at: string
    next_update: string
    entries: number
    bytes: number
    change_json: string | null
    frame_json: string | null
    segments_json: string | null
    digest: string | null
  },
): Promise<void> {
  const stored = await tx.query
    .insertInto('crl_versions')
    .values(row)
    .returning(['crl_json', 'head_json', 'frame_json', 'segments_json'])
    .executeTakeFirst()
  assertStored(row.crl_json, stored?.crl_json)
  assertStored(row.head_json, stored?.head_json ?? undefined)
  assertStored(row.frame_json ?? '', stored?.frame_json ?? '')
  assertStored(row.segments_json ?? '', stored?.segments_json ?? '')
}

export interface NewEntry {
  readonly cert_id: string
  readonly entry_json: string
  readonly expires_at: string
}

/** Appends entries. Positions are assigned under the lock, in the order of addition. Returns them. */
export async function appendEntries(tx: Transaction, entries: readonly NewEntry[]): Promise<readonly number[]> {
  if (entries.length === 0) return []
  const last = await tx.query
    .selectFrom('crl_entries')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  const first = Number(last?.position ?? 0) + 1
  let position = first - 1
  for (const chunk of chunks(entries, 1000)) {
    const rows = chunk.map((entry) => ({ ...entry, position: (position += 1) }))
    await tx.query.insertInto('crl_entries').values(rows).execute()
  }
  return entries.map((_, index) => first + index)
}

/** Texts of the entries of these certificates, by certificate. */
export async function findEntries(tx: Reader, cert_ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const some of chunks(cert_ids, 1000)) {
    const rows = await tx
      .selectFrom('crl_entries')
      .select(['cert_id', 'entry_json'])
      .where('cert_id', 'in', some)
      .execute()
    for (const { cert_id, entry_json } of rows) found.set(cert_id, entry_json)
  }
  return found
}

/** Changes the reason of an entry. Its position in the list stays, and is returned. */
export async function rewriteEntry(tx: Transaction, entry: NewEntry): Promise<readonly number[]> {
  const rows = await tx.query
    .updateTable('crl_entries')
    .set({ entry_json: entry.entry_json })
    .where('cert_id', '=', entry.cert_id)
    .returning('position')
    .execute()
  return rows.map(({ position }) => Number(position))
}

/** Entries removed by one statement. */
const PRUNED = 1000

/** Removes entries whose certificate expired before `cutoff`. Returns their positions. */
export async function pruneEntries(tx: Transaction, cutoff: string): Promise<readonly number[]> {
  const positions: number[] = []
  for (;;) {
    const pruned = await tx.query
      .deleteFrom('crl_entries')
      .where('position', 'in', (eb) =>
        eb.selectFrom('crl_entries').select('position').where('expires_at', '<', cutoff).limit(PRUNED),
      )
      .returning('position')
      .execute()
    for (const { position } of pruned) positions.push(Number(position))
    if (pruned.length < PRUNED) return positions
  }
}

export function countEntries(tx: Reader): Promise<number> {
  return countOf(tx.selectFrom('crl_entries'))
}

/** Returns all entries in order, joined by the database: one value instead of 100,000 rows through the driver. */
export async function joinEntries(
  database: Pick<Database, 'engine'>,
  tx: Reader,
  /** Leaves out entries whose row has an earlier expiry. */
  cutoff = '',
): Promise<{ readonly text: string; readonly count: number }> {
  const joined =
    database.engine === 'postgres'
      ? sql<string | null>`string_agg(entry_json, ',' order by position)`
      : sql<
          string | null
        >`(select group_concat(entry_json, ',') from (select entry_json from crl_entries where expires_at >= ${cutoff} order by position))`
  const row = await tx
    .selectFrom('crl_entries')
    .where('expires_at', '>=', cutoff)
    .select((eb) => [joined.as('text'), eb.fn.countAll<number>().as('count')])
    .executeTakeFirst()
  return { text: row?.text ?? '', count: Number(row?.count ?? 0) }
}

/**
 * Returns all entries of the list of the former key. Entries are stored with the issuer of the current key. The issuer is the last value of each entry. A certificate may
 * be missing in the database after a recovery, or stored with id and key only. Either key may have issued it, so both
 * lists name it.
 */
export async function joinFormerEntries(
  database: Pick<Database, 'engine'>,
  tx: Reader,
  former: string,
  current: string,
): Promise<string> {
  const [from, to] = [issuerText(current), issuerText(former)]
  const { rows } = await (
    database.engine === 'postgres'
      ? sql<{ text: string | null }>`
        select string_agg(replace(e.entry_json, ${from}, ${to}), ',' order by e.position) as text
        from crl_entries e left join issued_certs c on c.cert_id = e.cert_id
        where coalesce(c.cert_json::json ->> 'issued_by', ${former}) = ${former}`
      : sql<{ text: string | null }>`
        select group_concat(entry, ',') as text from (
          select replace(e.entry_json, ${from}, ${to}) as entry
          from crl_entries e left join issued_certs c on c.cert_id = e.cert_id
          where coalesce(json_extract(c.cert_json, '$.issued_by'), ${former}) = ${former} order by e.position)`
  ).execute(tx)
  return rows[0]?.text ?? ''
}

/** The key id as an entry has it. Key ids have no character that JSON escapes. */
export function issuerText(keyId: string): string {
  return `"issuer":"${keyId}"`
}

/** Splits statements, because engines limit the number of values in one. */
export function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  const out: Item[][] = []
  for (let at = 0; at < items.length; at += size) out.push(items.slice(at, at + size))
  return out
}
