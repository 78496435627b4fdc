import type { Engine, RunStatement, SqliteEngine } from '../../../database/database.ts'
import { LOCK_NODE_KEYS } from '../../../database/locks/node-keys.ts'

/** A descriptor whose signature has verified. */
export interface RegistrationRow {
  readonly node_public_key: string
  readonly agent_id: string
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

/** The few statements a batch needs; each engine brings its own words. */
interface Registry {
  readStates(rows: readonly RegistrationRow[], now: string): Promise<ReadonlyMap<string, KeyState>>
  upsert(rows: readonly RegistrationRow[]): Promise<void>
  replacePostings(changes: readonly PostingChange[]): Promise<void>
  insertEvents(rows: readonly RegistrationRow[], now: string): Promise<void>
}

interface PostingChange {
  readonly node_public_key: string
  readonly removed: readonly string[]
  readonly added: readonly string[]
}

/**
 * Registers a batch in one transaction. The rows come in order of arrival; of two descriptors of one key in a batch the
 * second is judged against the first. A refresh with the same capabilities writes one row and no posting.
 */
export async function registerAgents(
  engine: Engine,
  rows: readonly RegistrationRow[],
  now: string,
): Promise<readonly RegistrationOutcome[]> {
  if (engine.kind === 'postgres') return engine.transact((run) => applyBatch(postgresRegistry(run), rows, now))
  return registerOnSqlite(engine, rows, now)
}

async function applyBatch(
  registry: Registry,
  rows: readonly RegistrationRow[],
  now: string,
): Promise<RegistrationOutcome[]> {
  const states = new Map(await registry.readStates(rows, now))
  const { outcomes, winners, changes, first } = checkRegistration(states, rows, now)
  await registry.upsert([...winners.values()])
  if (changes.length > 0) await registry.replacePostings(changes)
  if (first.length > 0) await registry.insertEvents(first, now)
  return outcomes
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
    // Whether the purge has come by already must not decide what is audited.
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

function postgresRegistry(run: RunStatement): Registry {
  return {
    async readStates(rows, now) {
      const keys = rows.map((row) => row.node_public_key)
      await run('take-node-keys', LOCK_NODE_KEYS, [keys])
      const states = await run<KeyState>('agent-states', STATES, [keys, now])
      return new Map(states.map((state) => [state.node_public_key, state]))
    },
    async upsert(rows) {
      const column = <Key extends keyof RegistrationRow>(key: Key): RegistrationRow[Key][] =>
        rows.map((row) => row[key])
      await run(
        'upsert-agents',
        'insert into agent_registrations (node_public_key, agent_id, descriptor_json, capabilities_json, registered_at, expires_at, listed) ' +
          'select *, 1 from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) ' +
          'on conflict (node_public_key) do update set agent_id = excluded.agent_id, descriptor_json = excluded.descriptor_json, ' +
          'capabilities_json = excluded.capabilities_json, registered_at = excluded.registered_at, expires_at = excluded.expires_at, listed = 1',
        [
          column('node_public_key'),
          column('agent_id'),
          column('descriptor_json'),
          column('capabilities_json'),
          column('registered_at'),
          column('expires_at'),
        ],
      )
    },
    async replacePostings(changes) {
      const pairs = (kind: 'removed' | 'added'): [string[], string[]] => [
        changes.flatMap((change) => change[kind]),
        changes.flatMap((change) => change[kind].map(() => change.node_public_key)),
      ]
      await run(
        'delete-postings',
        'delete from agent_capabilities using unnest($1::text[], $2::text[]) as d(c, k) where capability = d.c and node_public_key = d.k',
        pairs('removed'),
      )
      await run(
        'insert-postings',
        'insert into agent_capabilities (capability, node_public_key) select * from unnest($1::text[], $2::text[]) on conflict do nothing',
        pairs('added'),
      )
      const deltas = countDeltas(changes)
      await run(
        'count-postings',
        'insert into agent_capability_counts as a (capability, agents) select * from unnest($1::text[], $2::bigint[]) ' +
          'on conflict (capability) do update set agents = a.agents + excluded.agents',
        [[...deltas.keys()], [...deltas.values()]],
      )
    },
    async insertEvents(rows, now) {
      await run(
        'insert-agent-events',
        "insert into audit_events (event_id, event_type, event_json, created_at) select id, 'agent_registered', json, $3 from unnest($1::text[], $2::text[]) as e(id, json)",
        [rows.map((row) => row.event_id), rows.map((row) => row.event_json), now],
      )
    },
  }
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

/** SQLite has no booleans. */
type SqliteKeyState = Omit<KeyState, 'has_certificate' | 'is_revoked'> & {
  readonly has_certificate: number
  readonly is_revoked: number
}

function registerOnSqlite(
  engine: SqliteEngine,
  rows: readonly RegistrationRow[],
  now: string,
): Promise<RegistrationOutcome[]> {
  return engine.write((prepare) => {
    const find = prepare(
      STATES.replace('(select distinct k from unnest($1::text[]) k) i', '(select ?1 as k) i').replaceAll('$2', '?2'),
    )
    const states = new Map<string, KeyState>()
    for (const { node_public_key } of rows) {
      const found = find.get(node_public_key, now) as unknown as SqliteKeyState
      states.set(node_public_key, {
        ...found,
        has_certificate: found.has_certificate === 1,
        is_revoked: found.is_revoked === 1,
      })
    }
    const { outcomes, winners, changes, first } = checkRegistration(states, rows, now)
    const upsert = prepare(
      'insert into agent_registrations (node_public_key, agent_id, descriptor_json, capabilities_json, registered_at, expires_at, listed) ' +
        'values (?, ?, ?, ?, ?, ?, 1) on conflict (node_public_key) do update set agent_id = excluded.agent_id, descriptor_json = excluded.descriptor_json, ' +
        'capabilities_json = excluded.capabilities_json, registered_at = excluded.registered_at, expires_at = excluded.expires_at, listed = 1',
    )
    for (const row of winners.values()) {
      upsert.run(
        row.node_public_key,
        row.agent_id,
        row.descriptor_json,
        row.capabilities_json,
        row.registered_at,
        row.expires_at,
      )
    }
    const [drop, post] = [
      prepare('delete from agent_capabilities where capability = ? and node_public_key = ?'),
      prepare('insert into agent_capabilities (capability, node_public_key) values (?, ?) on conflict do nothing'),
    ]
    for (const change of changes) {
      for (const tag of change.removed) drop.run(tag, change.node_public_key)
      for (const tag of change.added) post.run(tag, change.node_public_key)
    }
    const count = prepare(
      'insert into agent_capability_counts (capability, agents) values (?, ?) on conflict (capability) do update set agents = agents + excluded.agents',
    )
    for (const [tag, delta] of countDeltas(changes)) count.run(tag, delta)
    const event = prepare(
      "insert into audit_events (event_id, event_type, event_json, created_at) values (?, 'agent_registered', ?, ?)",
    )
    for (const row of first) event.run(row.event_id, row.event_json, now)
    return outcomes
  })
}
