import type { Reader } from '../database/database.ts'

/** Members of details whose values are subjects. Lists of ids are left out: one event would have thousands of rows. */
const SUBJECT_MEMBERS = [
  'agent_id',
  'agreement_id',
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

export interface EventPosition {
  readonly created_at: string
  readonly event_id: string
}

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
    let query = db
      .selectFrom('audit_subjects as s')
      .innerJoin('audit_events as e', 'e.event_id', 's.event_id')
      .select(['s.created_at', 's.event_id'])
      .where('s.subject', '=', subject)
    if (before !== undefined)
      query = query
        .where('s.created_at', '<=', before.created_at)
        .where((eb) => eb.or([eb('s.created_at', '<', before.created_at), eb('s.event_id', '<', before.event_id)]))
    const rows = await query.orderBy('s.created_at', 'desc').orderBy('s.event_id', 'desc').limit(limit).execute()
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
