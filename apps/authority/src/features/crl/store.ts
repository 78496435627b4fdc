import { readInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Store, Tx } from '../../store/database.ts'
import { assertKept } from '../../store/kept.ts'

/** A version without its text, which may be megabytes. */
export interface CrlVersion {
  readonly sequence: number
  readonly issuedAt: Instant
  readonly nextUpdate: Instant
  readonly entries: number
}

/** The highest sequence is the active list. */
export async function findActiveVersion(db: Tx): Promise<CrlVersion | undefined> {
  const row = await db
    .selectFrom('crl_versions')
    .select(['sequence', 'issued_at', 'next_update', 'entries'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { sequence, entries } = row
  return {
    sequence,
    entries,
    issuedAt: readInstant(row.issued_at) ?? 0n,
    nextUpdate: readInstant(row.next_update) ?? 0n,
  }
}

export async function loadCrlText(db: Tx, sequence: number): Promise<string> {
  const row = await db
    .selectFrom('crl_versions')
    .select('crl_json')
    .where('sequence', '=', sequence)
    .executeTakeFirstOrThrow()
  return row.crl_json
}

/** The sequence is the primary key: one number can only ever have one content. */
export async function insertVersion(
  tx: Tx,
  row: { sequence: number; crl_json: string; issued_at: string; next_update: string; entries: number },
): Promise<void> {
  const kept = await tx.insertInto('crl_versions').values(row).returning('crl_json').executeTakeFirst()
  assertKept(row.crl_json, kept?.crl_json)
}

export interface NewEntry {
  readonly cert_id: string
  readonly entry_json: string
  readonly expires_at: string
}

/** Appends entries; positions are numbered under the head lock, so the order of addition is kept. */
export async function appendEntries(tx: Tx, entries: readonly NewEntry[]): Promise<void> {
  const last = await tx
    .selectFrom('crl_entries')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  let position = Number(last?.position ?? 0)
  for (const chunk of chunks(entries, 1000)) {
    const rows = chunk.map((entry) => ({ ...entry, position: (position += 1) }))
    await tx.insertInto('crl_entries').values(rows).execute()
  }
}

/** Gives an entry another reason; its place in the list stays. */
export async function rewriteEntry(tx: Tx, entry: NewEntry): Promise<void> {
  await tx
    .updateTable('crl_entries')
    .set({ entry_json: entry.entry_json })
    .where('cert_id', '=', entry.cert_id)
    .execute()
}

/** Leaves out entries whose certificate expired before `cutoff`; true when there were any. */
export async function pruneEntries(tx: Tx, cutoff: string): Promise<boolean> {
  const pruned = await tx.deleteFrom('crl_entries').where('expires_at', '<', cutoff).returning('position').execute()
  return pruned.length > 0
}

/** All entries in order, joined by the database: one value instead of 100,000 rows through the driver. */
export async function joinEntries(store: Store, tx: Tx): Promise<{ readonly text: string; readonly count: number }> {
  const joined =
    store.backend === 'postgres'
      ? sql<string | null>`string_agg(entry_json, ',' order by position)`
      : sql<
          string | null
        >`(select group_concat(entry_json, ',') from (select entry_json from crl_entries order by position))`
  const row = await tx
    .selectFrom('crl_entries')
    .select((eb) => [joined.as('text'), eb.fn.countAll<number>().as('count')])
    .executeTakeFirst()
  return { text: row?.text ?? '', count: Number(row?.count ?? 0) }
}

/** Bounded statements: engines limit how many values one may carry. */
export function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  const out: Item[][] = []
  for (let at = 0; at < items.length; at += size) out.push(items.slice(at, at + size))
  return out
}
