import type pg from 'pg'
import type { Acknowledged, ChangedTables, RowFacts } from './changed-tables.ts'

const NAMES = ['audit_events', 'audit_numbers', 'audit_subjects'] as const
const BATCH = 100_000
const SEEDED = "event_id like 'seed-%'"

/** What the migration of audit partitions adds to tables with rows. */
export const AUDIT_COLUMNS_AWAY: readonly string[] = [
  ...NAMES.map((name) => `alter table ${name} drop column position`),
  'drop function audit_within_room(bigint)',
  'drop function audit_partition_events()',
  'drop sequence audit_positions',
]

/** Audit events with their numbers and subjects. All are in one partition. */
export const auditTables: ChangedTables = {
  job: 'audit-partitions',
  names: NAMES,
  back: NAMES.flatMap((name) => [
    `alter table ${name} detach partition ${name}_0`,
    `drop table ${name}`,
    `alter table ${name}_0 rename to ${name}`,
  ]),
  formerSchema: [...AUDIT_COLUMNS_AWAY, 'delete from schema_version where version >= 48'],
  targets: (first) => [
    '/admin/audit?limit=20',
    '/admin/audit?event=policy_published&limit=20',
    `/admin/audit?subject=policy-${first}&limit=20`,
    '/admin/evidence/status',
  ],
  seed,
  async read(client) {
    await client.query('set statement_timeout = 0')
    const { rows } = await client.query<{ rows: number; digest: string }>(
      `select (select count(*)::int from audit_events where ${SEEDED}) as rows, md5(
        (select md5(string_agg(md5(event_json || created_at), '' order by event_id)) from audit_events where ${SEEDED}) ||
        (select md5(string_agg(sequence || event_id, '' order by event_id)) from audit_numbers where ${SEEDED}) ||
        (select md5(string_agg(subject || created_at, '' order by event_id, subject)) from audit_subjects where ${SEEDED})
      ) as digest`,
    )
    const { rows: counted = 0, digest = '' } = rows[0] ?? {}
    return { rows: counted, last: await countEvents(client), digest }
  },
  compare,
}

/** Copies of one event with different ids, of one release before: without positions. */
async function seed(
  client: pg.Client,
  _lines: readonly string[],
  rows: number,
  log: (line: string) => void,
): Promise<void> {
  await client.query('set statement_timeout = 0')
  await client.query('set synchronous_commit = off')
  for (let first = 1; first <= rows; first += BATCH) {
    const last = Math.min(rows, first + BATCH - 1)
    await client.query(
      `with made as materialized (
        select 'seed-' || lpad(n::text, 8, '0') as event_id, 'policy-' || n as policy_id,
          -- Each a second later: the newest events are read by time.
          to_char(timestamp '2025-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.000000"Z"') as at
        from generate_series($1::int, $2::int) as n
      ), events as (
        insert into audit_events (event_id, event_type, event_json, created_at)
        select event_id, 'policy_published', json_build_object('event_id', event_id, 'event_type', 'policy_published',
          'details', json_build_object('policy_id', policy_id), 'created_at', at)::text, at from made
      ), subjects as (
        insert into audit_subjects (subject, created_at, event_id) select policy_id, at, event_id from made
      )
      insert into audit_numbers (sequence, event_id)
      select (select coalesce(max(sequence), 0) from audit_numbers) + row_number() over (order by event_id), event_id from made`,
      [first, last],
    )
    if (last % 300_000 < BATCH) log(`${last} events made`)
  }
  await client.query(`analyze ${NAMES.join(', ')}`)
}

async function compare(
  client: pg.Client,
  before: RowFacts,
  { decisions, executions }: Acknowledged,
): Promise<readonly string[]> {
  const wrong: string[] = []
  const after = await auditTables.read(client)
  if (after.rows !== before.rows || after.digest !== before.digest) wrong.push('rows of before differ')
  for (const [type, ids] of [
    ['decision_stored', decisions],
    ['evidence_recorded', executions],
  ] as const) {
    const { rows } = await client.query<{ found: number }>(
      `select count(distinct s.subject)::int as found from audit_subjects s join audit_events e on e.event_id = s.event_id
      where e.event_type = $1 and s.subject = any($2)`,
      [type, ids],
    )
    if (rows[0]?.found !== ids.length) wrong.push(`${rows[0]?.found} of ${ids.length} events ${type} are found`)
  }
  for (const name of ['audit_events', 'audit_numbers']) {
    const { rows } = await client.query<{ repeated: number }>(
      `select (count(*) - count(distinct event_id))::int as repeated from ${name}`,
    )
    if (rows[0]?.repeated !== 0) wrong.push(`${name} has ${rows[0]?.repeated} ids twice`)
  }
  return wrong
}

async function countEvents(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ events: number }>('select count(*)::int as events from audit_events')
  return rows[0]?.events ?? 0
}
