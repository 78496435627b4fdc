import { DAY, writeInstant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import { silentLog } from '@chancery/service-kit'
import { ManualClock, type TestAuthority, accepted, foreignSovereign, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coreJobs } from '../startup/core-jobs.ts'
import type { Core } from '../core.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { DAILY_DELAY_MS, NONCE_DELAY_MS, PurgeClock } from '../clock/purge-clock.ts'
import { inspectStore } from '../features/evidence/verify-store.ts'
import { inspectDatabase } from '../recovery/inspect.ts'
import { EXPORT_NAME, findOldestUnsent } from './sequence.ts'
import { type AuditCursor, BEGINNING, type ExportedEvent, exportAudit } from './export.ts'
import { findPosition, forwardAudit, storePosition } from './forward.ts'
import { removeForwardedEvents } from './remove.job.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const SETTINGS = { NA_CLOCK_CHECK: 'off', NA_GENESIS_WINDOW: 'warn', NA_AUDIT_KEPT_DAYS: '366' }
let clock: ManualClock
let na: TestAuthority
let count = 0
beforeEach(async () => {
  clock = new ManualClock('2090-01-01T00:00:00Z')
  na = await startTestAuthority({ clock, settings: SETTINGS })
})
afterEach(() => na.stop())

const db = () => rowsOf(na.core.database)
const published = async (): Promise<string[]> =>
  (await na.auditEvents('policy_published')).map(({ details }) => (details as { policy_id: string }).policy_id)

async function publish(): Promise<void> {
  count += 1
  accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: `removed-${count}` }), 201)
}

async function forward(name: string, received: ExportedEvent[] = []): Promise<ExportedEvent[]> {
  const receiver = { publish: async (event: ExportedEvent) => void received.push(event) }
  const signal = new AbortController().signal
  await forwardAudit({ database: na.core.database, receiver, name, clock, log: silentLog, signal, isOnce: true })
  return received
}

async function collect(after: AuditCursor): Promise<ExportedEvent[]> {
  const events: ExportedEvent[] = []
  for await (const page of exportAudit(na.core.database, after, 50)) events.push(...page)
  return events
}

function settled(settings: Partial<AuthoritySettings> = {}): typeof na.parts {
  const purgeClock = { nonces: clock, daily: clock } as unknown as Core['purgeClock']
  return Object.assign(
    { ...na.parts },
    {
      purgeClock,
      settings: { ...na.settings, ...settings },
    },
  )
}
const remove = (parts = settled()): Promise<void> => removeForwardedEvents(parts, new AbortController().signal)

describe('removeForwardedEvents', () => {
  it('removes old events that every reader has, and each reader continues from its position', async () => {
    await publish()
    await publish()
    clock.advance(367 * 86_400)
    // Nothing was stored elsewhere.
    await remove()
    expect(await published()).toHaveLength(2)
    await publish()
    const sent = await forward('nats')
    await publish()
    await forward('archive')
    // One reader has everything, the other all but the last.
    await remove()
    expect(await published()).toHaveLength(2)
    const orphans = sql`select 1 from audit_subjects where event_id not in (select event_id from audit_events)`
    expect((await orphans.execute(db())).rows).toEqual([])
    const [removal] = await na.auditEvents('audit_events_removed')
    const details = removal?.['details'] as { count: number; first_sequence: number; last_sequence: number }
    expect(details).toMatchObject({ first_sequence: 1, created_before: writeInstant(clock.now() - 366n * DAY) })
    expect(details.last_sequence).toBeLessThan(sent.at(-1)?.sequence ?? 0)
    const more = await forward('nats')
    expect(more.map(({ sequence }) => sequence)).toEqual(
      more.map((_, index) => (sent.at(-1)?.sequence ?? 0) + 1 + index),
    )
    expect(more.map(({ event_type }) => event_type)).toContain('audit_events_removed')
    // A reader without a stored position here misses removed events, and gets an error.
    await expect(collect({ sequence: 1, event_id: sent[0]?.event_id ?? '' })).rejects.toThrow(/was removed/)
    await expect(collect({ sequence: 1_000_000, event_id: 'a' })).rejects.toThrow(/was restored/)
    expect((await collect(BEGINNING)).at(0)?.sequence).toBeGreaterThan(details.last_sequence)
  })

  it('removes nothing younger, nothing that one reader lacks, and nothing with 0 days', async () => {
    await publish()
    await forward('early')
    const position = await findPosition(na.core.database, 'early')
    await publish()
    await forward('late')
    clock.advance(366 * 86_400)
    await remove()
    expect(await published()).toHaveLength(2)
    clock.advance(1)
    await remove(settled({ auditKeptDays: 0 }))
    expect(await published()).toHaveLength(2)
    await remove()
    // The event at the position of the slower reader stays, too.
    expect((await collect(BEGINNING)).at(0)?.sequence).toBe(position.sequence)
  })

  it('counts a named export as a reader, and never as a late one', async () => {
    await publish()
    const last = (await collect(BEGINNING)).at(-1) ?? BEGINNING
    await storePosition({ database: na.core.database, name: `${EXPORT_NAME}archive`, clock }, last)
    clock.advance(400 * 86_400)
    await publish()
    expect(await findOldestUnsent(db())).toBeUndefined()
    await remove()
    expect((await collect(BEGINNING)).at(0)?.sequence).toBe(last.sequence)
  })

  it('never removes the highest sequence, so none is used twice', async () => {
    await publish()
    const [last] = (await forward('nats')).slice(-1)
    clock.advance(400 * 86_400)
    await remove()
    await publish()
    const later = await forward('nats')
    expect(later.every(({ sequence }) => sequence > (last?.sequence ?? 0))).toBe(true)
  })

  it('keeps events that are read as state: a revoked treaty stays revoked, and the database verifies', async () => {
    const partner = foreignSovereign('PARTNER-NET')
    const terms = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey] }
    const treaty = accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', terms), 201)
    const path = `/admin/recognition-treaties/${String(treaty['treaty_id'])}/revoke`
    accepted(await na.as('privileged')('POST', path, { reason: 'ended' }))
    await publish()
    await publish()
    clock.advance(400 * 86_400)
    await publish()
    await forward('nats')
    await remove()
    expect(await published()).toHaveLength(1)
    expect(await na.auditEvents('recognition_treaty_revoked')).toHaveLength(1)
    const authority = { publicKeys: [na.genesis.network_authority.public_key], sovereign: na.genesis.network_name }
    expect((await inspectDatabase(db(), authority, inspectStore)).problems).toEqual([])
  })

  it('removes more than one batch, and skips events that stay', async () => {
    const created_at = writeSortable(clock.now())
    const rows = Array.from({ length: 1203 }, (_, index) => {
      const event_id = `many-${String(index).padStart(4, '0')}`
      const event_type = index % 400 === 0 ? 'state_recovered' : 'policy_published'
      const details = { crl_sequence: 0 }
      return { event_id, event_type, created_at, event_json: JSON.stringify({ event_id, event_type, details }) }
    })
    for (let at = 0; at < rows.length; at += 400)
      await db()
        .insertInto('audit_events')
        .values(rows.slice(at, at + 400))
        .execute()
    clock.advance(400 * 86_400)
    await publish()
    // Repeated: events get their numbers after every transaction of the server that began before has ended.
    const readLeft = async (): Promise<readonly string[]> => {
      await forward('nats')
      await remove()
      const left = await db()
        .selectFrom('audit_events')
        .select('event_type')
        .where('event_id', 'like', 'many-%')
        .execute()
      return left.map(({ event_type }) => event_type)
    }
    await expect.poll(readLeft).toEqual(Array.from({ length: 4 }, () => 'state_recovered'))
  })

  it('runs while the authority is restarted twice a day', async () => {
    await publish()
    await publish()
    clock.advance(364 * 86_400)
    await publish()
    await forward('nats')
    for (let half = 0; half < 10; half += 1) {
      const purgeClock = {
        nonces: new PurgeClock(clock, NONCE_DELAY_MS),
        daily: new PurgeClock(clock, DAILY_DELAY_MS),
      }
      const core = { ...na.core, purgeClock }
      for (const passed of [0, 12 * 3600]) {
        clock.advance(passed)
        for (const job of coreJobs(core, na.settings))
          if (['purge-clock', 'audit-removal'].includes(job.name)) await job.run(new AbortController().signal)
      }
    }
    expect(await published()).toHaveLength(1)
  })
})
