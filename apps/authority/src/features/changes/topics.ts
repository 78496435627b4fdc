import { createHash } from 'node:crypto'
import { type AuditEventType, CHANGE_TOPICS, type ChangeTopic } from '@chancery/contract'
import { selectNewestIds } from '../../audit/newest.ts'
import type { Domain } from '../../database/locks/domains.ts'
import type { Versions } from '../../database/locks/versions.ts'
import type { Statement } from '../../database/database.ts'

/** What the version of a topic is made from. No write is made for it: all of it is stored for another reason. */
interface TopicSources {
  /** Versions of domains, raised with each change. */
  readonly domains?: readonly Domain[]
  /** Events of changes that raise no version. */
  readonly events?: readonly AuditEventType[]
  readonly counters?: readonly Counter[]
}

/** `newest`: the newest audit events of any type. */
type Counter = 'certificates' | 'revocations' | 'evidence' | 'newest'

const SOURCES: Readonly<Record<ChangeTopic, TopicSources>> = {
  nodes: { events: ['node_label_set'], counters: ['certificates'] },
  invites: { events: ['invite_created', 'invites_created', 'invites_withdrawn'], counters: ['certificates'] },
  agents: { events: ['agent_registered', 'agent_deregistered'], counters: ['revocations'] },
  members: { events: ['membership_attestation_issued', 'membership_attestation_revoked'] },
  partners: {
    domains: ['partners', 'treaties', 'imports'],
    events: ['partner_changed', 'partner_key_changed', 'partner_alarm_raised', 'partner_alarm_cleared'],
  },
  treaties: { domains: ['treaties', 'partners'] },
  policies: { domains: ['boundary-policies', 'policy', 'recognition-policy', 'data-usage'] },
  evidence: {
    domains: ['evidence-anchors'],
    events: ['executor_key_registered', 'executor_key_retired'],
    counters: ['evidence'],
  },
  approvals: {
    events: [
      'approval_requested',
      'approval_stated',
      'approval_approved',
      'approval_denied',
      'approval_expired',
      'approval_cancelled',
      'approval_used',
    ],
  },
  audit: { counters: ['newest'] },
  keys: {
    domains: ['operator-keys'],
    events: ['operator_keys_changed', 'authority_key_announced', 'authority_key_succeeded', 'authority_key_retired'],
  },
}

/** Of each type. More than one, because a transaction may commit after others with a later time. */
const EVENTS_OF_TYPE = 4
const NEWEST_EVENTS = 32

const EVENT_TYPES = [...new Set(Object.values(SOURCES).flatMap(({ events = [] }) => events))]

const texts = (...columns: readonly string[]): string =>
  columns.map((column) => `cast(${column} as text)`).join(" || ' ' || ")

/** Every part reads a counter or the end of an index, whatever the size of the tables. */
const SELECT_SOURCES = [
  `select 'certificates' as source, ${texts('sum(issued)', 'sum(revoked)', 'sum(removed)')} as value from issued_counts`,
  `select 'revocations' as source, ${texts('sum(revoked) + sum(removed_revoked)')} as value from issued_counts`,
  `select 'evidence' as source, ${texts('last_sequence', 'removed_through', 'rejections')} as value
    from evidence_head where id = 1`,
  selectNewestIds(NEWEST_EVENTS),
  ...EVENT_TYPES.map((type) => selectNewestIds(EVENTS_OF_TYPE, type)),
].join(' union all ')

export interface SourceRow {
  readonly source: string
  readonly value: string
}

export const READ_SOURCES: Statement<undefined, SourceRow> = {
  name: 'read-change-sources',
  isRead: true,
  postgres: { text: SELECT_SOURCES, values: () => [] },
  sqlite: (prepare) => prepare(SELECT_SOURCES).all() as unknown as SourceRow[],
}

export type TopicVersions = Readonly<Record<ChangeTopic, string>>

/** Returns one short text for each topic, the same on every instance. */
export function toVersions(rows: readonly SourceRow[], { versions }: Pick<Versions, 'versions'>): TopicVersions {
  const values = new Map<string, string[]>()
  for (const { source, value } of rows) values.set(source, [...(values.get(source) ?? []), value])
  const valuesOf = (source: string): readonly string[] => (values.get(source) ?? []).toSorted()
  const entries = CHANGE_TOPICS.map((topic) => {
    const { domains = [], events = [], counters = [] } = SOURCES[topic]
    const raised = domains.map((domain) => versions.get(domain) ?? 0)
    return [topic, digest([raised, [...events, ...counters].map(valuesOf)])] as const
  })
  return Object.fromEntries(entries) as TopicVersions
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 10)
}

/** The versions of all topics as one text, in their order. */
export function joinVersions(versions: TopicVersions): string {
  return CHANGE_TOPICS.map((topic) => versions[topic]).join('.')
}

/** Returns the topics that differ from an earlier joint version: all of them for one of another form. */
export function changedSince(versions: TopicVersions, version: string): readonly ChangeTopic[] {
  const before = version.split('.')
  if (before.length !== CHANGE_TOPICS.length) return CHANGE_TOPICS
  return CHANGE_TOPICS.filter((topic, index) => versions[topic] !== before[index])
}
