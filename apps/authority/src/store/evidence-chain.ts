import type { ChainedEntry, StoreHead } from '@chancery/protocol'
import { readInstant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Store, Tx } from './database.ts'
import { assertKept } from './kept.ts'
import type { Tables } from './tables.ts'

export type EvidenceHeadRow = Tables['evidence_head']
export type EvidenceEntryRow = Tables['evidence_entries']

/** Takes the end of the chain for the rest of the transaction: the last lock in the order of heads.ts. */
export async function lockEvidenceHead(store: Store, tx: Tx): Promise<EvidenceHeadRow> {
  const query = tx.selectFrom('evidence_head').selectAll().where('id', '=', 1)
  // SQLite holds its only write lock already.
  return (store.backend === 'postgres' ? query.forUpdate() : query).executeTakeFirstOrThrow()
}

export function readEvidenceHead(db: Tx): Promise<EvidenceHeadRow> {
  return db.selectFrom('evidence_head').selectAll().where('id', '=', 1).executeTakeFirstOrThrow()
}

export function toStoreHead(row: Pick<EvidenceHeadRow, 'last_sequence' | 'last_digest'>): StoreHead {
  return { store_sequence: row.last_sequence, entry_digest: row.last_digest }
}

/** A linked entry on its way into the table. */
export interface NewEntry extends ChainedEntry {
  readonly record_digest: string | null
}

/** Everything one transaction puts behind the head. */
export interface ChainWrite {
  readonly entries: readonly NewEntry[]
  readonly head: Pick<EvidenceHeadRow, 'last_sequence' | 'last_digest' | 'last_recorded_at'>
  /** Submissions refused in it. */
  readonly rejected: number
  readonly audits: readonly Tables['audit_events'][]
}

/**
 * Adds linked entries, moves the head and tells of it, and compares what the database gives back with what was hashed:
 * a trigger or a lossy column must not get behind the chain unseen. PostgreSQL does all of it in one statement, since
 * every trip to it is waited for under the lock.
 */
export async function writeChain(store: Store, tx: Tx, write: ChainWrite): Promise<void> {
  const rows = write.entries.map(toRow)
  const kept = store.backend === 'postgres' ? await writeAtOnce(tx, rows, write) : await writeEach(tx, rows, write)
  const returned = new Map(kept.map((row) => [row.store_sequence, row]))
  for (const row of rows) {
    const back = returned.get(row.store_sequence)
    assertKept(row.line, back?.line)
    assertKept(row.entry_digest, back?.entry_digest)
  }
}

export function toRow({ entry, entry_digest, line, record_digest }: NewEntry): EvidenceEntryRow {
  return {
    store_sequence: entry.store_sequence,
    entry_kind: entry.entry_kind,
    recorded_at: writeSortable(readInstant(entry.recorded_at) ?? 0n),
    entry_digest,
    decision_id: entry.decision_id,
    vendor_id: entry.vendor_id,
    attestation_id: entry.attestation_id,
    capability: entry.capability,
    outcome: entry.outcome,
    evidence_id: entry.evidence_id,
    exec_sequence_no: entry.exec_sequence_no,
    resource_id: entry.resource_id,
    resource_sequence: entry.resource_sequence,
    record_digest,
    line,
  }
}

type Kept = Pick<EvidenceEntryRow, 'store_sequence' | 'entry_digest' | 'line'>

/** One statement however many rows. No line has a line feed in it, so all of them travel as one text, unescaped. */
async function writeAtOnce(tx: Tx, rows: readonly EvidenceEntryRow[], write: ChainWrite): Promise<readonly Kept[]> {
  const column = <Name extends keyof EvidenceEntryRow>(name: Name): EvidenceEntryRow[Name][] =>
    rows.map((row) => row[name])
  const told = (name: keyof ChainWrite['audits'][number]): string[] => write.audits.map((row) => row[name])
  const { head, rejected } = write
  const { rows: kept } = await sql<Kept>`
    with head as (
      update evidence_head set last_sequence = ${head.last_sequence}::bigint, last_digest = ${head.last_digest},
        last_recorded_at = ${head.last_recorded_at}, rejections = rejections + ${rejected}::bigint where id = 1),
    told as (
      insert into audit_events (event_id, event_type, created_at, event_json)
      select * from unnest(${told('event_id')}::text[], ${told('event_type')}::text[], ${told('created_at')}::text[],
        string_to_array(${told('event_json').join('\n')}, E'\n')) as a(id, type, at, json) where id is not null)
    insert into evidence_entries (store_sequence, entry_kind, recorded_at, entry_digest, decision_id, vendor_id,
      attestation_id, capability, outcome, evidence_id, exec_sequence_no, resource_id, resource_sequence, record_digest, line)
    select * from unnest(${column('store_sequence')}::bigint[], ${column('entry_kind')}::text[],
      ${column('recorded_at')}::text[], ${column('entry_digest')}::text[], ${column('decision_id')}::text[],
      ${column('vendor_id')}::text[], ${column('attestation_id')}::text[], ${column('capability')}::text[],
      ${column('outcome')}::text[], ${column('evidence_id')}::text[], ${column('exec_sequence_no')}::bigint[],
      ${column('resource_id')}::text[], ${column('resource_sequence')}::bigint[], ${column('record_digest')}::text[],
      string_to_array(${column('line').join('\n')}, E'\n'))
    returning store_sequence, entry_digest, line`.execute(tx)
  return kept
}

async function writeEach(tx: Tx, rows: readonly EvidenceEntryRow[], write: ChainWrite): Promise<readonly Kept[]> {
  const kept: Kept[] = []
  for (const row of rows) {
    const back = await tx
      .insertInto('evidence_entries')
      .values(row)
      .returning(['store_sequence', 'entry_digest', 'line'])
      .executeTakeFirstOrThrow()
    kept.push(back)
  }
  await tx
    .updateTable('evidence_head')
    .set({ ...write.head, rejections: sql<number>`rejections + ${write.rejected}` })
    .where('id', '=', 1)
    .execute()
  for (let at = 0; at < write.audits.length; at += 500)
    await tx
      .insertInto('audit_events')
      .values(write.audits.slice(at, at + 500))
      .execute()
  return kept
}

/** A list of ids as rows `t(id)`, so that each can be looked up by its own index probe, whatever its history. */
export function idRows(store: Store, ids: readonly string[]): RawBuilder<unknown> {
  return store.backend === 'postgres'
    ? sql`unnest(${ids}::text[]) as t(id)`
    : sql`(select value as id from json_each(${JSON.stringify(ids)})) as t`
}
