import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@chancery/protocol'
import { type TestAuthority, accepted, currentBackend, publishFirst, startTestAuthority } from '@chancery/testkit'
import { writeAuditLine } from '@chancery/contract'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assignSequences } from './sequence.ts'
import type { Query } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { BEGINNING, CursorUnknownError, exportAudit, readCursor, writeCursor } from './export.ts'
import type { AuditCursor, ExportedEvent } from './export.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const onPostgres = currentBackend() === 'postgres'
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
  await publishFirst(na)
})
afterAll(() => na.stop())

async function collect(after: AuditCursor = BEGINNING, pageSize = 50): Promise<ExportedEvent[]> {
  const events: ExportedEvent[] = []
  for await (const page of exportAudit(na.core.database, after, pageSize)) events.push(...page)
  return events
}

async function insert(db: Query, details: JsonObject = {}): Promise<string> {
  const event_id = randomUUID()
  const created_at = '2026-01-01T00:00:00.000000Z'
  const event_json = JSON.stringify({ event_id, event_type: 'policy_published', details, created_at })
  await db
    .insertInto('audit_events')
    .values({ event_id, event_type: 'policy_published', event_json, created_at })
    .execute()
  return event_id
}

const idsOf = (events: readonly ExportedEvent[]): string[] => events.map(({ event_id }) => event_id)

describe('the export of audit events', () => {
  it('returns every event once, numbered without a gap, and continues where it ended', async () => {
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'first' }), 201)
    const first = await collect()
    expect(first.length).toBeGreaterThan(0)
    expect(first.map(({ sequence }) => sequence)).toEqual(first.map((_, i) => i + 1))
    const added = [await insert(rowsOf(na.core.database)), await insert(rowsOf(na.core.database))]
    const last = first.at(-1) ?? BEGINNING
    const cursor = readCursor(writeCursor(last))
    expect(cursor).toEqual({ sequence: last.sequence, event_id: last.event_id })
    expect(idsOf(await collect(last)).sort()).toEqual([...added].sort())
    const all = await na.auditEvents()
    expect(idsOf(await collect()).sort()).toEqual(all.map((event) => String(event['event_id'])).sort())
  })

  it('is the same for all readers, whatever the size of the pages', async () => {
    const [whole, byOne] = [await collect(BEGINNING, 1000), await collect(BEGINNING, 1)]
    expect(byOne).toEqual(whole)
  })

  it.runIf(onPostgres)('does not skip an event that was inserted before and committed after others', async () => {
    const { database } = na.core
    const slow = openDatabase({ kind: 'postgres', url: na.database.settings['DATABASE_URL'] ?? '' })
    let late = ''
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let began = (): void => undefined
    const inserted = new Promise<void>((resolve) => {
      began = resolve
    })
    const running = slow.write(async (tx) => {
      late = await insert(tx.query)
      began()
      await held
    })
    await inserted
    const early = await insert(rowsOf(database))
    const before = await collect()
    expect(idsOf(before)).toContain(early)
    expect(idsOf(before)).not.toContain(late)
    const cursor = before.at(-1) ?? BEGINNING
    release()
    await running
    await slow.close()
    expect(idsOf(await collect(cursor))).toEqual([late])
  })

  it.runIf(onPostgres)('numbers under load from many writers and readers: none missed, none twice', async () => {
    const { database } = na.core
    const start = (await collect()).at(-1) ?? BEGINNING
    const written: string[] = []
    const writer = async (): Promise<void> => {
      for (let i = 0; i < 40; i += 1)
        await database.write(async (tx) => {
          written.push(await insert(tx.query))
          if (i % 3 === 0) await sql`select pg_sleep(0.01)`.execute(tx.query)
        })
    }
    const read: string[] = []
    let isWriting = true
    const reader = async (): Promise<void> => {
      let at: AuditCursor = start
      for (let isLast = false; ; isLast = !isWriting) {
        for await (const page of exportAudit(database, at, 7)) {
          read.push(...idsOf(page))
          at = page.at(-1) ?? at
        }
        if (isLast) return
      }
    }
    const numbering = async (): Promise<void> => {
      while (isWriting) await assignSequences(database, 5)
    }
    const readers = [reader(), numbering()]
    await Promise.all(Array.from({ length: 8 }, writer))
    isWriting = false
    await Promise.all(readers)
    expect(new Set(read).size).toBe(read.length)
    // The authority may have recorded events in the meantime, too.
    const own = new Set(written)
    expect(read.filter((id) => own.has(id)).sort()).toEqual([...written].sort())
  })

  it.runIf(onPostgres)('continues after a logical restore, where transactions have other numbers', async () => {
    const db = rowsOf(na.core.database)
    const cursor = (await collect()).at(-1) ?? BEGINNING
    // As after a restored dump: rows with transaction numbers of the future, progress of another server.
    await sql`update audit_events set xact = 4000000000000`.execute(db)
    await sql`update audit_numbering set from_xact = 4000000000001, server = 'elsewhere'`.execute(db)
    const unnumbered = await insert(db)
    expect(idsOf(await collect(cursor))).toEqual([unnumbered])
    const after = await insert(db)
    expect(idsOf(await collect(cursor))).toEqual([unnumbered, after])
    expect(idsOf(await collect()).length).toBe((await na.auditEvents()).length)
  })

  it('refuses a cursor of another history, as after an old backup', async () => {
    const { sequence } = (await collect()).at(-1) ?? BEGINNING
    await expect(collect({ sequence, event_id: randomUUID() })).rejects.toThrow(CursorUnknownError)
    await expect(collect({ sequence: sequence + 5, event_id: randomUUID() })).rejects.toThrow(CursorUnknownError)
  })

  it('redacts possible secrets, at any depth, and keeps fingerprints', async () => {
    const cursor = (await collect()).at(-1) ?? BEGINNING
    await insert(rowsOf(na.core.database), {
      token_fingerprint: 'ab',
      nested: [{ invite_token: 'x', reason: 'y' }],
      nonce: 'n',
    })
    const line = JSON.parse((await collect(cursor))[0]?.line ?? '{}') as JsonObject
    expect(line['details']).toEqual({
      token_fingerprint: 'ab',
      nested: [{ invite_token: '<redacted>', reason: 'y' }],
      nonce: '<redacted>',
    })
    expect(Object.keys(line)).toEqual(['sequence', 'event_id', 'event_type', 'details', 'created_at'])
  })

  it.each(['ocsf', 'cloudevents'] as const)('redacts before it writes %s', async (format) => {
    const cursor = (await collect()).at(-1) ?? BEGINNING
    await insert(rowsOf(na.core.database), {
      policy_id: 'p',
      invite_token: 'secret-1',
      nested: [{ nonce: 'secret-2' }],
    })
    const origin = { service: 'authority', network: 'TEST-NET', version: '0' } as const
    const pages = exportAudit(na.core.database, cursor, 10, (event) => writeAuditLine(event, format, origin))
    const lines: string[] = []
    for await (const page of pages) lines.push(...page.map(({ line }) => line))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('policy_published')
    expect(lines[0]).toContain('"nonce":"<redacted>"')
    expect(lines[0]).not.toContain('secret-')
  })

  it.each(['', 'x', '-1:a', '1', '01:a', '1:', '1:a b', '9'.repeat(20)])('reads no cursor from %j', (text) => {
    expect(readCursor(text)).toBeUndefined()
  })
})
