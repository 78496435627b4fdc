import { faultAfterAudit } from '#faults'
import { type ChainedEntry, type StoreHead, readInstant, writeSortable } from '@chancery/protocol'
import { type AuditRow, auditInsertFrom, insertAuditRows, subjectsText } from '../../../audit/insert.ts'
import type { Selectable } from 'kysely'
import { type Reader, type Statement, type Transaction, storedDifferently } from '../../../database/database.ts'
import type { Tables } from '../../../database/tables.ts'
import type { DecisionFacts } from '../decision-facts.ts'
import { factsInsertFrom, factsValues, insertFacts } from './decision-facts.ts'

export type EvidenceHeadRow = Selectable<Tables['evidence_head']>
export type EvidenceEntryRow = Tables['evidence_entries']

const SELECT_HEAD = 'select * from evidence_head where id = 1'

const LOCK_HEAD: Statement<undefined, EvidenceHeadRow> = {
  name: 'evidence-lock-head',
  postgres: { text: `${SELECT_HEAD} for update`, values: () => [] },
  // SQLite has its only write lock already.
  sqlite: (prepare) => prepare(SELECT_HEAD).all() as unknown as EvidenceHeadRow[],
}

/** Locks the end of the chain until the transaction ends: the last lock, after those of DOMAINS. */
export async function lockEvidenceHead(tx: Transaction): Promise<EvidenceHeadRow> {
  const [head] = await tx.run(LOCK_HEAD, undefined)
  if (head === undefined) throw new Error('the evidence store has no head')
  return head
}

export function readEvidenceHead(db: Reader): Promise<EvidenceHeadRow> {
  return db.selectFrom('evidence_head').selectAll().where('id', '=', 1).executeTakeFirstOrThrow()
}

/** The counters of budgets include every entry up to here. */
export async function moveBudgetSequence(tx: Transaction, budget_sequence: number): Promise<void> {
  await tx.query.updateTable('evidence_head').set({ budget_sequence }).where('id', '=', 1).execute()
}

export function toStoreHead(row: Pick<EvidenceHeadRow, 'last_sequence' | 'last_digest'>): StoreHead {
  return { store_sequence: row.last_sequence, entry_digest: row.last_digest }
}

/** A linked entry on its way into the table. */
export interface NewEntry extends ChainedEntry {
  readonly record_digest: string | null
  /** Of a decision; a job finds out those of an imported one. */
  readonly facts?: DecisionFacts
}

/** Everything one transaction adds after the head. */
export interface ChainWrite {
  readonly entries: readonly NewEntry[]
  readonly head: Pick<EvidenceHeadRow, 'last_sequence' | 'last_digest' | 'last_recorded_at' | 'budget_sequence'>
  /** Submissions refused in it. */
  readonly rejected: number
  readonly audits: readonly AuditRow[]
}

/**
 * Adds linked entries, moves the head and audits it. Compares the stored lines with the hashed ones: a change by a
 * trigger or a lossy column must not enter the chain. It is one statement, because every round trip is made under the
 * lock; the database compares, because every line would have to be sent back otherwise.
 */
export async function writeChain(tx: Transaction, write: ChainWrite): Promise<void> {
  const rows = write.entries.map(toRow)
  const [stored] = await tx.run(WRITE_CHAIN, { ...write, rows })
  faultAfterAudit(tx, write.audits)
  if (rows.length > 0 && !(stored?.has_lines === true && stored.has_digests === true)) throw storedDifferently()
}

let lastTime = { text: '', sortable: '' }

/** The entries of a batch have the same time. */
function sortableTime(text: string): string {
  if (lastTime.text !== text) lastTime = { text, sortable: writeSortable(readInstant(text) ?? 0n) }
  return lastTime.sortable
}

export function toRow({ entry, entry_digest, line, record_digest }: NewEntry): EvidenceEntryRow {
  return {
    store_sequence: entry.store_sequence,
    entry_kind: entry.entry_kind,
    recorded_at: sortableTime(entry.recorded_at),
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

/** Whether the rows have the lines and digests that were sent, in this order and no others. */
interface StoredAs {
  readonly has_lines: boolean | null
  readonly has_digests: boolean | null
}

/** Columns in the order of WRITE_CHAIN; the line comes last. */
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

const INSERT_ENTRIES = `insert into evidence_entries (${COLUMNS.join(', ')}, line)`
const RETURNING = 'returning store_sequence, entry_digest, line'

// No line contains a line feed, so all lines are sent as one text without escapes.
const WRITE_CHAIN: Statement<ChainWrite & { readonly rows: readonly EvidenceEntryRow[] }, StoredAs> = {
  name: 'evidence-write',
  postgres: {
    text: `with head as (
    update evidence_head set last_sequence = $1::bigint, last_digest = $2, last_recorded_at = $3,
      rejections = rejections + $4::bigint, budget_sequence = $33::bigint where id = 1),
  ${auditInsertFrom(`select * from unnest($5::text[], $6::text[], string_to_array($7, E'\\n'), $8::text[], $24::text[])
    as a(event_id, event_type, event_json, created_at, subjects) where event_id is not null`)},
  ${factsInsertFrom(25)},
  stored as (${INSERT_ENTRIES} select * from unnest($9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
    $16::text[], $17::text[], $18::text[], $19::bigint[], $20::text[], $21::bigint[], $22::text[],
    string_to_array($23, E'\\n')) ${RETURNING})
  select string_agg(line, E'\\n' order by store_sequence) = $23 as has_lines,
    string_agg(entry_digest, '' order by store_sequence) = array_to_string($12::text[], '') as has_digests
  from stored`,
    values: ({ entries, head, rejected, audits, rows }) => [
      head.last_sequence,
      head.last_digest,
      head.last_recorded_at,
      rejected,
      audits.map((row) => row.event_id),
      audits.map((row) => row.event_type),
      audits.map((row) => row.event_json).join('\n'),
      audits.map((row) => row.created_at),
      ...COLUMNS.map((name) => rows.map((row) => row[name])),
      rows.map((row) => row.line).join('\n'),
      audits.map(subjectsText),
      ...factsValues(entries),
      head.budget_sequence,
    ],
  },
  sqlite(prepare, { entries, head, rejected, audits, rows }) {
    const values = [...COLUMNS, 'line'].map(() => '?').join(', ')
    const insert = prepare(`${INSERT_ENTRIES} values (${values}) ${RETURNING}`)
    const stored = rows.map(
      (row) => insert.get(...COLUMNS.map((name) => row[name]), row.line) as unknown as EvidenceEntryRow | undefined,
    )
    const has = (name: 'line' | 'entry_digest'): boolean => rows.every((row, at) => stored[at]?.[name] === row[name])
    prepare(
      'update evidence_head set last_sequence = ?, last_digest = ?, last_recorded_at = ?, rejections = rejections + ?, budget_sequence = ? where id = 1',
    ).run(head.last_sequence, head.last_digest, head.last_recorded_at, rejected, head.budget_sequence)
    insertFacts(prepare, entries)
    insertAuditRows(prepare, audits)
    return [{ has_lines: has('line'), has_digests: has('entry_digest') }]
  },
}
