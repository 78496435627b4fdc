import { type Place, inOrder } from '../database/list-query.ts'
import type { Prepare, Reader, Statement } from '../database/database.ts'

export interface AuditRow {
  readonly event_id: string
  readonly event_type: string
  readonly event_json: string
  readonly created_at: string
  /** The ids that the event names; where it is left out they are read from the text. */
  readonly subjects?: readonly string[]
}

const COLUMNS = 'event_id, event_type, event_json, created_at'
const INSERT = `insert into audit_events (${COLUMNS})`
const INSERT_SUBJECT = 'insert into audit_subjects (subject, created_at, event_id)'

/**
 * The parts `audited` of a PostgreSQL statement that insert events and their subjects, for batches that write
 * everything in one statement. The source gives the columns of an event, and `subjects` as subjectsText() writes them.
 */
export function auditInsertFrom(source: string): string {
  return `audit_rows as materialized (${source}), audited as (
  ${INSERT} select ${COLUMNS} from audit_rows
), audited_subjects as (
  ${INSERT_SUBJECT} select s.subject, r.created_at, r.event_id
  from audit_rows r cross join unnest(string_to_array(r.subjects, E'\\n')) as s(subject)
)`
}

/** Subjects as one text; none contains a line feed. */
export function subjectsText(row: Pick<AuditRow, 'event_type' | 'event_json' | 'subjects'>): string {
  return (row.subjects ?? subjectsOf(row)).join('\n')
}

/** Inserts events on SQLite, inside another statement of the transaction. */
export function insertAuditRows(prepare: Prepare, rows: readonly AuditRow[]): void {
  const insert = prepare(`${INSERT} values (?, ?, ?, ?)`)
  const insertSubject = prepare(`${INSERT_SUBJECT} values (?, ?, ?)`)
  for (const row of rows) {
    insert.run(row.event_id, row.event_type, row.event_json, row.created_at)
    for (const subject of row.subjects ?? subjectsOf(row)) insertSubject.run(subject, row.created_at, row.event_id)
  }
}

/** Inserts events. One prepared statement for any number of rows. */
export const INSERT_AUDIT_EVENTS: Statement<readonly AuditRow[], never> = {
  name: 'insert-audit-events',
  postgres: {
    text: `with ${auditInsertFrom(
      `select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as a(${COLUMNS}, subjects)`,
    )} select 1 where false`,
    values: (rows) => [
      rows.map((row) => row.event_id),
      rows.map((row) => row.event_type),
      rows.map((row) => row.event_json),
      rows.map((row) => row.created_at),
      rows.map(subjectsText),
    ],
  },
  sqlite(prepare, rows) {
    insertAuditRows(prepare, rows)
    return []
  },
}

/** Members of details whose values are subjects. Lists of ids are left out: one event would have thousands of rows. */
const SUBJECT_MEMBERS = [
  'agent_id',
  'agreement_id',
  'approval_id',
  'approver_id',
  'attestation_id',
  'batch_id',
  'cert_id',
  'decision_id',
  'executor_key_id',
  'invite_token_fingerprint',
  'issuer_sovereign_id',
  'key_id',
  'new_cert_id',
  'node_public_key',
  'old_cert_id',
  'policy_id',
  'prior_cert_id',
  'recipient_public_key',
  'revoked_by',
  'rule_id',
  'sovereign_id',
  'subject_id',
  'subject_sovereign_id',
  'token_fingerprint',
  'treaty_id',
] as const

/** The evidence store has its own indexes, so its frequent events are found by their decision only. */
const EVIDENCE_MEMBERS = ['decision_id'] as const
const EVIDENCE_EVENTS: ReadonlySet<string> = new Set([
  'decision_stored',
  'evidence_recorded',
  'evidence_duplicate',
  'evidence_rejected',
])

export const SUBJECT_MAX_CHARACTERS = 256

/** The ids that an event names, each once. The authority wrote the text, so it is a JSON object. */
export function subjectsOf({ event_type, event_json }: { event_type: string; event_json: string }): readonly string[] {
  const { details = {} } = JSON.parse(event_json) as { readonly details?: Readonly<Record<string, unknown>> }
  return subjectsIn(event_type, details)
}

/** The same from the details of an event. */
export function subjectsIn(event_type: string, details: Readonly<Record<string, unknown>>): readonly string[] {
  const members = EVIDENCE_EVENTS.has(event_type) ? EVIDENCE_MEMBERS : SUBJECT_MEMBERS
  return [...new Set(members.map((name) => details[name]).filter(isSubject))]
}

/** A control character or half a character cannot be stored by PostgreSQL; no id has one. */
export function isSubject(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= SUBJECT_MAX_CHARACTERS &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value)
  )
}

/** The order of events, oldest first. */
export const EVENT_ORDER = [
  { column: 'created_at', form: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/ },
  { column: 'event_id', form: /[0-9A-Za-z-]{1,64}/ },
] as const
export const NEWEST_EVENTS = [
  { ...EVENT_ORDER[0], descending: true },
  { ...EVENT_ORDER[1], descending: true },
] as const

export type EventPosition = Place<typeof EVENT_ORDER>

export interface SubjectEvent extends EventPosition {
  readonly event_type: string
  readonly event_json: string
}

/** Events that name one of the subjects, newest first, each once, after a position. One index range per subject. */
export async function listEventsOf(
  db: Reader,
  subjects: readonly string[],
  { before, limit }: { readonly before: EventPosition | undefined; readonly limit: number },
): Promise<readonly SubjectEvent[]> {
  const found = new Map<string, EventPosition>()
  for (const subject of new Set(subjects)) {
    // A subject may be stored longer than its event. It must not take the place of another.
    const query = db
      .selectFrom('audit_subjects as s')
      .innerJoin('audit_events as e', 'e.event_id', 's.event_id')
      .select(['s.created_at', 's.event_id'])
      .where('s.subject', '=', subject)
    const rows = await inOrder(query, NEWEST_EVENTS, { after: before, limit }, 's').execute()
    for (const row of rows) found.set(row.event_id, row)
  }
  const ids = [...found.values()]
    .sort(newestFirst)
    .slice(0, limit)
    .map(({ event_id }) => event_id)
  if (ids.length === 0) return []
  const events = await db
    .selectFrom('audit_events')
    .select(['event_id', 'event_type', 'event_json', 'created_at'])
    .where('event_id', 'in', ids)
    .execute()
  return [...events].sort(newestFirst)
}

function newestFirst(a: EventPosition, b: EventPosition): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? 1 : -1
  return a.event_id < b.event_id ? 1 : -1
}
