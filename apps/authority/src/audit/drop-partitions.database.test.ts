import { silentLog, systemIds } from '@chancery/service-kit'
import { ManualClock, type TestDatabase, createMigratedDatabase, currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../database/database.ts'
import { locationOf } from '../database/database.suite.ts'
import { openDatabase } from '../database/open.ts'
import { countTables } from '../database/sizes/measure-tables.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import { addEvents, eventRows, partitionsOf, positionsIn, useAuditPartitionsOf } from './audit-partitions.suite.ts'
import { type AuditCursor, BEGINNING, type ExportedEvent, exportAudit } from './export.ts'
import { forwardAudit, resetPosition, storePosition } from './forward.ts'
import { INSERT_AUDIT_EVENTS, listEventsOf } from './insert.ts'
import { keepAuditPartitions } from './index-subjects.job.ts'
import { Audit } from './record.ts'
import { removeForwardedEvents } from './remove.job.ts'
import { assignSequences } from './sequence.ts'

const isPostgres = currentBackend() === 'postgres'
const SIZE = 50
const KEPT_DAYS = 366
const { signal } = new AbortController()

/** Without an authority, whose jobs would run meanwhile. */
let place: TestDatabase
let database: Database
let clock: ManualClock
let parts: Parameters<typeof removeForwardedEvents>[0] & { readonly log: typeof silentLog }
beforeEach(async () => {
  place = await createMigratedDatabase()
  database = openDatabase(locationOf(place))
  if (isPostgres) await useAuditPartitionsOf(database, SIZE)
  clock = new ManualClock('2090-01-01T00:00:00Z')
  const counter = { increase: () => undefined }
  const audit = new Audit({
    database,
    clock,
    ids: systemIds,
    log: silentLog,
    metrics: { refusalsNotRecorded: counter, auditWriteFailures: counter } as never,
    refusalLimits: { hit: async () => true },
  })
  const settings = { auditKeptDays: KEPT_DAYS }
  parts = { database, clock, instance: 'i', log: silentLog, audit, purgeClock: { daily: clock }, settings }
})
afterEach(async () => {
  await database.close()
  await place.drop()
})

/** Inserts events of now, numbers them and makes the next partitions, as the jobs do. Returns their ids. */
async function fill(count: number, type?: string): Promise<string[]> {
  const ids: string[] = []
  for (let left = count; left > 0; left -= 10) {
    const more = type === undefined ? {} : { type }
    ids.push(
      ...(await addEvents(database, Math.min(10, left), { at: clock.now(), ...more })).map((row) => row.event_id),
    )
    await assignSequences(database)
    await keepAuditPartitions(parts, signal)
  }
  return ids
}

async function forward(name = 'nats'): Promise<readonly ExportedEvent[]> {
  const received: ExportedEvent[] = []
  const receiver = { publish: async (event: ExportedEvent) => void received.push(event) }
  await forwardAudit({ database, receiver, name, clock, log: silentLog, signal, isOnce: true })
  return received
}

async function collect(after: AuditCursor): Promise<readonly ExportedEvent[]> {
  const events: ExportedEvent[] = []
  for await (const page of exportAudit(database, after, 50)) events.push(...page)
  return events
}

const remove = (): Promise<void> => removeForwardedEvents(parts, signal)
const advance = (days: number): void => clock.advance(days * 86_400)

async function storedEvents(): Promise<ReadonlySet<string>> {
  const rows = await database.read.selectFrom('audit_events').select('event_id').execute()
  return new Set(rows.map(({ event_id }) => event_id))
}

async function removals(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rows = await database.read
    .selectFrom('audit_events')
    .select('event_json')
    .where('event_type', '=', 'audit_events_removed')
    .orderBy('created_at')
    .execute()
  return rows.map(({ event_json }) => (JSON.parse(event_json) as { details: Record<string, unknown> }).details)
}

describe('retention of audit events', () => {
  it('removes the same events on both engines, whole partitions on PostgreSQL, and readers continue', async () => {
    const old = [...(await fill(20)), ...(await fill(1, 'state_recovered')), ...(await fill(99))]
    const staying = old[20] ?? ''
    advance(400)
    const young = await fill(5)
    const sent = await forward()
    expect(sent).toHaveLength(125)
    await remove()
    const stored = await storedEvents()
    expect(old.filter((id) => stored.has(id))).toEqual([staying])
    expect(young.filter((id) => stored.has(id))).toEqual(young)
    const removed = await removals()
    expect(removed.reduce((sum, each) => sum + Number(each['count']), 0)).toBe(119)
    if (isPostgres) {
      // Positions from 2 on: 48 events in the first partition, one of which stays, and 50 in the second one.
      expect((await partitionsOf(database)).slice(0, 2)).toEqual(['staying < 0', '100 < 150'])
      expect(removed.map((each) => each['count'])).toEqual(expect.arrayContaining([47, 50, 22]))
      expect(removed.find((each) => each['count'] === 47)).toMatchObject({ first_sequence: 1, last_sequence: 48 })
      expect((await positionsIn(database, 'audit_events')).get(staying)).toBe(-1)
      expect((await positionsIn(database, 'audit_numbers')).get(staying)).toBe(-1)
      expect((await positionsIn(database, 'audit_subjects')).get(staying)).toBe(-1)
    }
    const number = (await collect(BEGINNING)).find(({ event_id }) => event_id === staying)
    expect(number?.sequence).toBe(21)
    const subject = `cert-${Number(staying.slice(6))}`
    const found = await listEventsOf(database.read, [subject], { before: undefined, limit: 5 })
    expect(found.map(({ event_id }) => event_id)).toEqual([staying])
    // Each reader continues without a gap, and one without a stored position gets an error.
    const more = await forward()
    expect(more.map(({ sequence }) => sequence)).toEqual(more.map((_, at) => 126 + at))
    expect(more).toHaveLength(removed.length)
    await expect(collect({ sequence: 1, event_id: old[0] ?? '' })).rejects.toThrow(/was removed/)
    const counts = await countTables(database)
    // On PostgreSQL the numbers of the last events of a partition can be in the next one.
    if (!isPostgres) expect(counts.get('audit_numbers')).toBe(counts.get('audit_events'))
  })
})

describe('a partition', () => {
  const names = async (): Promise<readonly string[]> =>
    (await partitionsOf(database)).map((name) => name.split(' ')[0] ?? '')

  it.runIf(isPostgres)('stays whole while its last event becomes old within seven days, then goes', async () => {
    const first = await fill(24)
    advance(3)
    await fill(46)
    await forward()
    advance(KEPT_DAYS - 2)
    await fill(40)
    await forward()
    await remove()
    expect([...(await storedEvents())]).toEqual(expect.arrayContaining(first))
    // The last position is 111, so less than half of the third partition is used.
    expect(await names()).toEqual(['0', '50', '100'])
    advance(3)
    await remove()
    expect(await names()).toEqual(['50', '100'])
  })

  it.runIf(isPostgres)('loses single events when its last event is young for longer', async () => {
    const first = await fill(24)
    advance(30)
    await fill(46)
    await forward()
    advance(KEPT_DAYS - 29)
    await forward()
    await remove()
    const stored = await storedEvents()
    expect(first.filter((id) => stored.has(id))).toEqual([])
    expect((await names())[0]).toBe('0')
  })

  it.runIf(isPostgres)(
    'stays while a reader has not passed all of its events, and waits for it for a week',
    async () => {
      const first = await fill(70)
      const [tenth] = (await collect(BEGINNING)).slice(9)
      await storePosition({ database, name: 'slow', clock }, tenth ?? BEGINNING)
      await forward()
      advance(KEPT_DAYS + 3)
      await fill(40)
      await forward()
      await remove()
      expect([...(await storedEvents())]).toEqual(expect.arrayContaining(first))
      advance(5)
      await remove()
      const stored = await storedEvents()
      expect(first.filter((id) => !stored.has(id))).toEqual(first.slice(0, 9))
      expect((await names())[0]).toBe('0')
      await forward('slow')
      await remove()
      expect((await names())[0]).toBe('50')
    },
  )

  it.runIf(isPostgres)('stays while an operator has set a reader back', async () => {
    await fill(70)
    const events = await forward()
    await resetPosition(database, 'nats', events[3] ?? BEGINNING, '2090')
    advance(KEPT_DAYS + 3)
    await fill(40)
    await remove()
    expect((await names())[0]).toBe('0')
  })

  it.runIf(isPostgres)(
    'stays while a transaction with one of its positions is open, and until that event is read',
    async () => {
      const [late] = eventRows(1, { at: clock.now() })
      if (late === undefined) throw new Error('no event')
      const other = openDatabase(locationOf(place))
      try {
        const [mayCommit, inserted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const writing = other.write(async (tx) => {
          await tx.run(INSERT_AUDIT_EVENTS, [late])
          inserted.resolve()
          await mayCommit.promise
        })
        await inserted.promise
        await fill(70)
        advance(KEPT_DAYS + 3)
        await fill(40)
        await forward()
        await remove()
        expect((await names())[0]).toBe('0')
        mayCommit.resolve()
        await writing
        // Committed, and no reader has it.
        await remove()
        expect((await names())[0]).toBe('0')
        expect(await storedEvents()).toContain(late.event_id)
        expect((await forward()).map(({ event_id }) => event_id)).toContain(late.event_id)
        await fill(1)
        await forward()
        await remove()
        expect((await names())[0]).toBe('50')
      } finally {
        await other.close()
      }
    },
  )

  it.runIf(isPostgres)('stays while a transaction reads it, and goes later', async () => {
    await fill(70)
    advance(KEPT_DAYS + 3)
    await fill(40)
    await forward()
    await database.write(async (tx) => {
      await tx.query.selectFrom('audit_events').select('event_id').limit(1).execute()
      await remove()
      expect((await names())[0]).toBe('0')
      expect(await removals()).toEqual([])
    })
    await remove()
    expect((await names())[0]).toBe('50')
  })

  it.runIf(isPostgres)('leaves numbers and subjects of events in later partitions', async () => {
    await fill(70)
    advance(KEPT_DAYS + 3)
    const [living] = await fill(40)
    await forward()
    for (const table of ['audit_numbers', 'audit_subjects'])
      await sql`update ${sql.table(table)} set position = 10 where event_id = ${living}`.execute(rowsOf(database))
    await remove()
    expect((await names())[0]).toBe('50')
    for (const table of ['audit_numbers', 'audit_subjects'] as const)
      expect((await positionsIn(database, table)).get(living ?? '')).toBeGreaterThanOrEqual(SIZE)
  })

  it.runIf(isPostgres)('leaves nothing that a reader takes for an event', async () => {
    const old = await fill(70)
    advance(KEPT_DAYS + 3)
    await fill(40)
    const sent = await forward()
    // As after a copy: numbers and subjects are in a later partition than their events.
    for (const table of ['audit_numbers', 'audit_subjects'])
      await sql`update ${sql.table(table)} set position = 60 where position < 50`.execute(rowsOf(database))
    await remove()
    expect((await names())[0]).toBe('50')
    const gone = old[0] ?? ''
    await expect(collect({ sequence: sent[0]?.sequence ?? 0, event_id: gone })).rejects.toThrow(/was removed/)
    expect((await collect(BEGINNING)).map(({ event_id }) => event_id)).not.toContain(gone)
    const subject = `node-${Number(gone.slice(6)) % 10}`
    const stored = await storedEvents()
    expect([...(await positionsIn(database, 'audit_numbers')).keys()].filter((id) => !stored.has(id))).toEqual([])
    expect((await removals()).map((each) => [each['count'], each['last_sequence']])).toContainEqual([48, 48])
    const found = await listEventsOf(database.read, [subject], { before: undefined, limit: 10 })
    // 40 events of ten nodes.
    expect(found).toHaveLength(4)
    for (const { event_id } of found) expect(stored).toContain(event_id)
  })

  it.runIf(isPostgres)('that is the last one is never dropped', async () => {
    await fill(10)
    await forward()
    advance(500)
    await remove()
    expect(await names()).toEqual(['0'])
  })
})
