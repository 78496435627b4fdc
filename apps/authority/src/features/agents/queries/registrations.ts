import { faultAfterAudit } from '#faults'
import { type AuditRow, INSERT_AUDIT_EVENTS } from '../../../audit/insert.ts'
import type { Database, Statement } from '../../../database/database.ts'
import { LOCK_NODE_KEYS } from '../../../database/transaction.ts'

/** A descriptor whose signature has verified. */
export interface RegistrationRow {
  readonly node_public_key: string
  readonly agent_id: string
  readonly host: string
  readonly descriptor_json: string
  readonly capabilities: readonly string[]
  readonly capabilities_json: string
  readonly registered_at: string
  readonly expires_at: string
  readonly event_id: string
  readonly event_json: string
}

/** `registered`, or which of checks 8 to 10 of protocol/core 13.2 failed. */
export type RegistrationOutcome = 'registered' | 'no_certificate' | 'key_revoked' | 'older'

interface KeyState {
  readonly node_public_key: string
  readonly has_certificate: boolean
  readonly is_revoked: boolean
  readonly held_at: string | null
  readonly held_capabilities: string | null
  readonly listed: number | null
  readonly held_until: string | null
  readonly deleted_at: string | null
}

interface PostingChange {
  readonly node_public_key: string
  readonly removed: readonly string[]
  readonly added: readonly string[]
}

/**
 * Registers a batch in one transaction. The rows come in order of arrival; of two descriptors of one key in a batch the
 * second is checked against the first. A refresh with the same capabilities writes one row and no posting.
 */
export function registerAgents(
  database: Pick<Database, 'write'>,
  rows: readonly RegistrationRow[],
  now: string,
): Promise<readonly RegistrationOutcome[]> {
  return database.write(
    async (tx) => {
      const keys = rows.map((row) => row.node_public_key)
      await tx.run(LOCK_NODE_KEYS, keys)
      const states = await tx.run(READ_KEY_STATES, { keys, now })
      const byKey = new Map(states.map((state) => [state.node_public_key, state]))
      const { outcomes, winners, changes, first } = checkRegistration(byKey, rows, now)
      await tx.run(UPSERT_AGENTS, [...winners.values()])
      if (changes.length > 0) {
        await tx.run(DELETE_POSTINGS, toPostings(changes, 'removed'))
        await tx.run(INSERT_POSTINGS, toPostings(changes, 'added'))
        await tx.run(COUNT_POSTINGS, countDeltas(changes))
      }
      if (first.length > 0) {
        const events = first.map(({ event_id, event_json }) => toEvent(event_id, event_json, now))
        await tx.run(INSERT_AUDIT_EVENTS, events)
        faultAfterAudit(tx, events)
      }
      return outcomes
    },
    { cachedPlans: true },
  )
}

function toEvent(event_id: string, event_json: string, created_at: string): AuditRow {
  return { event_id, event_type: 'agent_registered', event_json, created_at }
}

interface RegistrationResult {
  readonly outcomes: RegistrationOutcome[]
  /** The newest accepted descriptor of each key. */
  readonly winners: ReadonlyMap<string, RegistrationRow>
  readonly changes: readonly PostingChange[]
  /** First registrations, which are audited; refreshes are not. */
  readonly first: readonly RegistrationRow[]
}

function checkRegistration(
  states: ReadonlyMap<string, KeyState>,
  rows: readonly RegistrationRow[],
  now: string,
): RegistrationResult {
  const winners = new Map<string, RegistrationRow>()
  const outcomes = rows.map((row): RegistrationOutcome => {
    const state = states.get(row.node_public_key)
    if (state === undefined || !state.has_certificate) return 'no_certificate'
    if (state.is_revoked) return 'key_revoked'
    const newest = winners.get(row.node_public_key)?.registered_at ?? state.held_at
    const isOlder = newest !== null && row.registered_at < newest
    const isDeleted = state.deleted_at !== null && row.registered_at <= state.deleted_at
    if (isOlder || isDeleted) return 'older'
    winners.set(row.node_public_key, row)
    return 'registered'
  })
  const changes: PostingChange[] = []
  const first: RegistrationRow[] = []
  for (const [key, row] of winners) {
    const state = states.get(key)
    const isListed = state?.listed === 1
    // A late purge must not change what is audited.
    const isLive = isListed && (state.held_until ?? '') > now
    if (!isLive) first.push(row)
    const held = isListed ? (JSON.parse(state.held_capabilities ?? '[]') as string[]) : []
    if (isListed && state.held_capabilities === row.capabilities_json) continue
    const [before, after] = [new Set(held), new Set(row.capabilities)]
    const [removed, added] = [
      [...before].filter((tag) => !after.has(tag)),
      [...after].filter((tag) => !before.has(tag)),
    ]
    if (removed.length + added.length > 0) changes.push({ node_public_key: key, removed, added })
  }
  return { outcomes, winners, changes, first }
}

const STATES = `
select i.k as node_public_key, r.registered_at as held_at, r.capabilities_json as held_capabilities, r.listed, r.expires_at as held_until, t.signed_at as deleted_at,
  exists (select 1 from issued_certs c where c.node_public_key = i.k and c.status = 'issued' and c.issued_at <= $2 and c.expires_at > $2
    and (c.revoke_after is null or c.revoke_after > $2)) as has_certificate,
  exists (select 1 from issued_certs c where c.node_public_key = i.k and c.status = 'revoked' and (c.revocation_reason = 'key_compromise'
    or (c.revocation_reason <> 'superseded' and exists (select 1 from crl_entries e where e.cert_id = c.cert_id)))) as is_revoked
from (select distinct k from unnest($1::text[]) k) i
left join agent_registrations r on r.node_public_key = i.k left join agent_tombstones t on t.node_public_key = i.k`

/** SQLite has no booleans. */
type SqliteKeyState = Omit<KeyState, 'has_certificate' | 'is_revoked'> & {
  readonly has_certificate: number
  readonly is_revoked: number
}

const READ_KEY_STATES: Statement<{ readonly keys: readonly string[]; readonly now: string }, KeyState> = {
  name: 'agent-states',
  postgres: { text: STATES, values: ({ keys, now }) => [keys, now] },
  sqlite(prepare, { keys, now }) {
    const find = prepare(
      STATES.replace('(select distinct k from unnest($1::text[]) k) i', '(select ?1 as k) i').replaceAll('$2', '?2'),
    )
    return keys.map((key) => {
      const found = find.get(key, now) as unknown as SqliteKeyState
      return { ...found, has_certificate: found.has_certificate === 1, is_revoked: found.is_revoked === 1 }
    })
  },
}

const UPSERT =
  'insert into agent_registrations (node_public_key, agent_id, descriptor_json, capabilities_json, registered_at, expires_at, host, listed)'
const ON_CONFLICT =
  'on conflict (node_public_key) do update set agent_id = excluded.agent_id, descriptor_json = excluded.descriptor_json, ' +
  'capabilities_json = excluded.capabilities_json, registered_at = excluded.registered_at, expires_at = excluded.expires_at, host = excluded.host, listed = 1'

const COLUMNS = [
  'node_public_key',
  'agent_id',
  'descriptor_json',
  'capabilities_json',
  'registered_at',
  'expires_at',
  'host',
] as const satisfies (keyof RegistrationRow)[]

const UPSERT_AGENTS: Statement<readonly RegistrationRow[], never> = {
  name: 'upsert-agents',
  postgres: {
    text: `${UPSERT} select *, 1 from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) ${ON_CONFLICT}`,
    values: (rows) => COLUMNS.map((name) => rows.map((row) => row[name])),
  },
  sqlite(prepare, rows) {
    const upsert = prepare(`${UPSERT} values (?, ?, ?, ?, ?, ?, ?, 1) ${ON_CONFLICT}`)
    for (const row of rows) upsert.run(...COLUMNS.map((name) => row[name]))
    return []
  },
}

interface Posting {
  readonly capability: string
  readonly node_public_key: string
}

function toPostings(changes: readonly PostingChange[], kind: 'removed' | 'added'): readonly Posting[] {
  return changes.flatMap((change) =>
    change[kind].map((capability) => ({ capability, node_public_key: change.node_public_key })),
  )
}

const postingColumns = (rows: readonly Posting[]): readonly unknown[] => [
  rows.map((row) => row.capability),
  rows.map((row) => row.node_public_key),
]

const DELETE_POSTINGS: Statement<readonly Posting[], never> = {
  name: 'delete-postings',
  postgres: {
    text: 'delete from agent_capabilities using unnest($1::text[], $2::text[]) as d(c, k) where capability = d.c and node_public_key = d.k',
    values: postingColumns,
  },
  sqlite(prepare, rows) {
    const remove = prepare('delete from agent_capabilities where capability = ? and node_public_key = ?')
    for (const row of rows) remove.run(row.capability, row.node_public_key)
    return []
  },
}

const INSERT_POSTINGS: Statement<readonly Posting[], never> = {
  name: 'insert-postings',
  postgres: {
    text: 'insert into agent_capabilities (capability, node_public_key) select * from unnest($1::text[], $2::text[]) on conflict do nothing',
    values: postingColumns,
  },
  sqlite(prepare, rows) {
    const insert = prepare(
      'insert into agent_capabilities (capability, node_public_key) values (?, ?) on conflict do nothing',
    )
    for (const row of rows) insert.run(row.capability, row.node_public_key)
    return []
  },
}

const COUNT_POSTINGS: Statement<ReadonlyMap<string, number>, never> = {
  name: 'count-postings',
  postgres: {
    text:
      'insert into agent_capability_counts as a (capability, agents) select * from unnest($1::text[], $2::bigint[]) ' +
      'on conflict (capability) do update set agents = a.agents + excluded.agents',
    values: (deltas) => [[...deltas.keys()], [...deltas.values()]],
  },
  sqlite(prepare, deltas) {
    const count = prepare(
      'insert into agent_capability_counts (capability, agents) values (?, ?) on conflict (capability) do update set agents = agents + excluded.agents',
    )
    for (const [capability, delta] of deltas) count.run(capability, delta)
    return []
  },
}

/** Sorted by capability: counter rows are locked in one order by every instance. */
export function countDeltas(changes: readonly PostingChange[]): ReadonlyMap<string, number> {
  const deltas = new Map<string, number>()
  const add = (capability: string, by: number): void => void deltas.set(capability, (deltas.get(capability) ?? 0) + by)
  for (const change of changes) {
    for (const capability of change.removed) add(capability, -1)
    for (const capability of change.added) add(capability, 1)
  }
  return new Map([...deltas].filter(([, delta]) => delta !== 0).sort(([a], [b]) => (a < b ? -1 : 1)))
}
