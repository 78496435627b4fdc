import type { ChainedEntry, StoreHead } from '@chancery/protocol'
import { readInstant, writeSortable } from '@chancery/protocol'
import { CompiledQuery, sql } from 'kysely'
import type { Database, Tx } from '../../../database/database.ts'
import { assertStored } from '../../../database/assert-stored.ts'
import { cachePlan } from '../../../database/statement.ts'
import type { Tables } from '../../../database/tables.ts'

export type EvidenceHeadRow = Tables['evidence_head']
export type EvidenceEntryRow = Tables['evidence_entries']

const LOCK_HEAD = cachePlan('evidence-lock-head', 'select * from evidence_head where id = 1 for update')

/** Takes the end of the chain for the rest of the transaction: the last lock in the order of heads.ts. */
export async function lockEvidenceHead(database: Database, tx: Tx): Promise<EvidenceHeadRow> {
  // SQLite holds its only write lock already.
  if (database.engine === 'sqlite') return readEvidenceHead(tx)
  const { rows } = await tx.executeQuery(CompiledQuery.raw(LOCK_HEAD))
  const head = rows[0] as EvidenceHeadRow | undefined
  if (head === undefined) throw new Error('the evidence store has no head')
  return head
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
export async function writeChain(database: Database, tx: Tx, write: ChainWrite): Promise<void> {
  const rows = write.entries.map(toRow)
  const stored = database.engine === 'postgres' ? await writeAtOnce(tx, rows, write) : await writeEach(tx, rows, write)
  const returned = new Map(stored.map((row) => [row.store_sequence, row]))
  for (const row of rows) {
    const back = returned.get(row.store_sequence)
    assertStored(row.line, back?.line)
    assertStored(row.entry_digest, back?.entry_digest)
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

type StoredRow = Pick<EvidenceEntryRow, 'store_sequence' | 'entry_digest' | 'line'>

/** As the statement below lists them; the line comes last. */
const COLUMNS = [
  'store_sequence',
  'entry_kind',
  'recorded_at',
  'entry_digest',
  'decision_id',
  'vendor_id',
  'attestation_id',
  'capability',
  'outcome',
  'evidence_id',
  'exec_sequence_no',
  'resource_id',
  'resource_sequence',
  'record_digest',
] as const satisfies (keyof EvidenceEntryRow)[]

const WRITE = cachePlan(
  'evidence-write',
  `with head as (
    update evidence_head set last_sequence = $1::bigint, last_digest = $2, last_recorded_at = $3,
      rejections = rejections + $4::bigint where id = 1),
  told as (
    insert into audit_events (event_id, event_type, created_at, event_json)
    select * from unnest($5::text[], $6::text[], $7::text[], string_to_array($8, E'\\n')) as a(id, type, at, json)
    where id is not null)
  insert into evidence_entries (${COLUMNS.join(', ')}, line)
  select * from unnest($9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
    $16::text[], $17::text[], $18::text[], $19::bigint[], $20::text[], $21::bigint[], $22::text[],
    string_to_array($23, E'\\n'))
  returning store_sequence, entry_digest, line`,
)

/** One statement however many rows. No line has a line feed in it, so all of them travel as one text, unescaped. */
async function writeAtOnce(
  tx: Tx,
  rows: readonly EvidenceEntryRow[],
  write: ChainWrite,
): Promise<readonly StoredRow[]> {
  const told = (name: keyof ChainWrite['audits'][number]): string[] => write.audits.map((row) => row[name])
  const { head, rejected } = write
  const values = [head.last_sequence, head.last_digest, head.last_recorded_at, rejected]
  const events = [told('event_id'), told('event_type'), told('created_at'), told('event_json').join('\n')]
  const columns = COLUMNS.map((name) => rows.map((row) => row[name]))
  const lines = rows.map((row) => row.line).join('\n')
  const { rows: stored } = await tx.executeQuery(CompiledQuery.raw(WRITE, [...values, ...events, ...columns, lines]))
  return stored as readonly StoredRow[]
}

async function writeEach(tx: Tx, rows: readonly EvidenceEntryRow[], write: ChainWrite): Promise<readonly StoredRow[]> {
  const stored: StoredRow[] = []
  for (const row of rows) {
    const back = await tx
      .insertInto('evidence_entries')
      .values(row)
      .returning(['store_sequence', 'entry_digest', 'line'])
      .executeTakeFirstOrThrow()
    stored.push(back)
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
  return stored
}
