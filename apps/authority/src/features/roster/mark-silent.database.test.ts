import { writeSortable } from '@chancery/protocol'
import { ManualClock, type TestAuthority, accepted, enroll, newNodeCaller, startTestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { MarkPosition, markSilent } from './mark-silent.job.ts'
import { findPlaces, markStatement } from './queries/mark-silent.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const db = () => rowsOf(na.core.database)
const marked = async () =>
  (await db().selectFrom('node_liveness').select('cert_id').where('silent_since', 'is not', null).execute()).length
const mark = (position = new MarkPosition()) => markSilent(na.parts, position, new AbortController().signal)

describe('markSilent', () => {
  it('marks silent nodes of a large network only, and a heartbeat removes the mark', async () => {
    const node = await newNodeCaller(na.url, 'mark', clock)
    const { cert_id } = await enroll(na, node)
    clock.advance(300)
    await mark()
    expect(await marked()).toBe(0)
    const at = writeSortable(clock.now())
    const text =
      na.core.database.engine === 'sqlite'
        ? sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 10001) select i from n`
        : sql`select i from generate_series(1, 10001) as n(i)`
    await sql`insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr)
      select 'other-' || i, 'key-' || i, ${at}, 'ok', '127.0.0.1' from (${text}) many`.execute(db())
    await mark()
    expect(await marked()).toBe(1)
    const row = await db()
      .selectFrom('node_liveness')
      .selectAll()
      .where('cert_id', '=', cert_id)
      .executeTakeFirstOrThrow()
    expect(row.silent_since).toBe(row.last_heartbeat)
    const [listed] = (
      accepted(await na.as('standard')('GET', '/admin/nodes?state=silent')) as { nodes: { cert_id: string }[] }
    ).nodes
    expect(listed?.cert_id).toBe(cert_id)
    accepted(await node.heartbeat(cert_id))
    expect(await marked()).toBe(0)
    clock.advance(301)
    await mark()
    expect(await marked()).toBe(10_002)
    await sql`update node_liveness set last_heartbeat = ${writeSortable(clock.now())}`.execute(db())
    await mark()
    expect(await marked()).toBe(0)
  })

  it('reads a sixth of a larger table with each run, in statements that read their part only', async () => {
    const { database } = na.core
    const { engine } = database
    const { from, to } = await findPlaces(database)
    clock.advance(301)
    let statements = 0
    const write: typeof database.write = (work, options) => {
      statements += 1
      return database.write(work, options)
    }
    const parts = { ...na.parts, database: { ...database, write } }
    const position = new MarkPosition({ atOnce: Math.ceil((to - from) / 24), statements: 1 })
    await markSilent(parts, position, new AbortController().signal)
    expect(position.next).toBe(from + Math.ceil((to - from) / 6))
    expect(statements).toBe(4)
    // Marked rows move to other pages of PostgreSQL, so the table may become larger meanwhile.
    for (let run = 1; run < 6; run += 1) await markSilent(parts, position, new AbortController().signal)
    expect(await marked()).toBe(10_002)
    if (engine === 'sqlite') return
    const statement = markStatement(engine, '', { from: 0, to: 4 })
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${statement}`.execute(database.read)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('Tid Range Scan')
    expect(plan).not.toContain('Seq Scan')
  })
})
