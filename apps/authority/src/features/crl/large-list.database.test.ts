// oxlint-disable max-lines -- one large list, and everything that can happen to it
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  CompactCrl,
  DAY,
  canonicalJson,
  fromUtf8,
  hours,
  joinBytes,
  toUtf8,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { JsonObject, RevocationReason } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createTestDatabase,
  refused,
  seedCertificates,
  startTestAuthority,
  testSigner,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Transaction } from '../../database/database.ts'
import { raiseMark } from '../../recovery/published-lists.ts'
import { inspectDatabase } from '../../recovery/inspect.ts'
import { readMark } from '../../rollback/mark-file.ts'
import { digestOf } from '../../rollback/positions.ts'
import { inspectStore } from '../evidence/verify-store.ts'
import { ListBuilder } from './list-builder.ts'
import { removeOldLists } from './remove.job.ts'
import { EntriesCache } from './entries-cache.ts'
import { revokeBatch } from './revocation.ts'
import { warmList } from './warm-list.ts'

/** Entries with positions 1 to this number. Those up to `OLD` end after ten hours, and those of `BRIEF` before. */
const [ENTRIES, OLD, BRIEF] = [12_000, 8500, [1500, 1501, 7000]]
/** The segment of the last entries. */
const LAST = 12
const clock = new ManualClock('2026-03-01T12:00:00Z')
let database: TestDatabase
let folder: string
let na: TestAuthority
let other: TestAuthority
let certificates: string[]
/** Served texts by sequence. */
const served = new Map<number, string>()

async function start(): Promise<TestAuthority> {
  const mark = join(folder, 'mark')
  const settings = { NA_CLOCK_CHECK: 'off', NA_HIGH_WATER_FILES: mark }
  return startTestAuthority({ clock, database, settings })
}

/** Reads the list, which is in canonical form, signed, and has the entries of the rows in their order. */
async function readList(from = na): Promise<{ readonly text: string; readonly sequence: number }> {
  const { text } = await from.request('GET', '/crl')
  const list = JSON.parse(text) as JsonObject & { sequence: number; revoked_certificates: JsonObject[] }
  expect(text === canonicalJson(list)).toBe(true)
  expect(verifiesWithNodeCrypto(text, na.genesis.network_authority.public_key)).toBe(true)
  const rows = await from.core.database.read
    .selectFrom('crl_entries')
    .select('entry_json')
    .orderBy('position')
    .execute()
  expect(list.revoked_certificates).toHaveLength(rows.length)
  expect(canonicalJson(list.revoked_certificates) === `[${rows.map(({ entry_json }) => entry_json).join(',')}]`).toBe(
    true,
  )
  served.set(list.sequence, text)
  return { text, sequence: list.sequence }
}

async function revoke(reason = 'unspecified', by = na, cert_id = certificates.pop()): Promise<string> {
  accepted(await by.as('privileged')('POST', '/admin/revoke', { cert_id: cert_id ?? '', reason, all_of_key: false }))
  return cert_id ?? ''
}

/** Builds from all rows, because an entry gets another text. Without the deadline of a request: a thread starts. */
async function rebuildAll(cert_id: string): Promise<void> {
  const request = { cert_ids: [cert_id], onlyThis: true, form: 'cert_id', missing: [], attempt: undefined } as const
  await na.features.crl.revoke({ ...request, reason: 'key_compromise', cause: {} })
}

/** The list that a reader of an earlier one makes of the delta. */
async function rebuild(from: number): Promise<string | undefined> {
  const { status, text } = await na.request('GET', `/crl/delta?from=${from}`)
  expect(status, text).toBe(200)
  const next = CompactCrl.read(toUtf8(served.get(from) ?? ''))?.withDelta(toUtf8(text))
  return next && fromUtf8(joinBytes(next.pieces))
}

/** Buckets that a version wrote. */
async function written(sequence: number): Promise<number[]> {
  const query = na.core.database.read.selectFrom('crl_segments').select('bucket').where('sequence', '=', sequence)
  return (await query.orderBy('bucket').execute()).map(({ bucket }) => bucket)
}

/** In a transaction, because instances share the database. */
function change(work: (tx: Transaction) => Promise<unknown>): Promise<unknown> {
  return na.core.database.write(work)
}

async function readSegment(bucket: number): Promise<{ bucket: number; sequence: number; body: Uint8Array }> {
  const rows = na.core.database.read.selectFrom('crl_segments').selectAll().where('bucket', '=', bucket)
  return rows.executeTakeFirstOrThrow()
}

async function seedEntries(): Promise<void> {
  // Unknown certificates: they end 366 days after their revocation.
  const revokedAt = clock.now() - 366n * DAY + hours(9)
  const rows = Array.from({ length: ENTRIES }, (_, index) => {
    const position = index + 1
    const isBrief = BRIEF.includes(position)
    const at = position > OLD ? clock.now() - hours(1) : revokedAt - (isBrief ? hours(8) : 0n)
    const ends = position > OLD ? clock.now() + hours(5000) : clock.now() + (isBrief ? hours(1) : hours(9))
    const entry = {
      certificate_id: `cert-${position}`,
      issuer: 'na-test',
      reason: 'unspecified',
      revoked_at: writeInstant(at),
    }
    return { position, cert_id: `cert-${position}`, entry_json: canonicalJson(entry), expires_at: writeSortable(ends) }
  })
  for (let at = 0; at < rows.length; at += 1000)
    await change(({ query }) =>
      query
        .insertInto('crl_entries')
        .values(rows.slice(at, at + 1000))
        .execute(),
    )
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'large-list-'))
  database = await createTestDatabase()
  na = await start()
  other = await start()
  const seed = async (name: string, count: number): Promise<string[]> => {
    const { publicKey } = await testSigner('node', name)
    const seeded = await seedCertificates(na.parts, { count, node_public_key: publicKey, validityHours: 5000 })
    return seeded.map(({ cert_id }) => cert_id)
  }
  // The key of the last one is compromised first, which revokes all its certificates.
  certificates = [...(await seed('large-list', 30)), ...(await seed('large-list-key', 1))]
  await readList()
  await seedEntries()
})
afterAll(async () => {
  await other.stop()
  await na.stop()
  await database.drop()
  await rm(folder, { recursive: true })
})

describe('a list of 12,000 entries', () => {
  it('is built from all rows while the event loop turns, and stored in segments', async () => {
    const first = await revoke()
    let turns = 0
    const timer = setInterval(() => undefined, 1)
    const count = (): void => {
      turns += 1
      if (timer.hasRef()) setImmediate(count)
    }
    setImmediate(count)
    await rebuildAll(first)
    clearInterval(timer.unref())
    // Two pages of rows, and at least as many calls to the thread.
    expect(turns).toBeGreaterThan(4)
    const { text, sequence } = await readList()
    expect(await written(sequence)).toEqual(Array.from({ length: LAST + 1 }, (_, bucket) => bucket))
    const row = await na.core.database.read
      .selectFrom('crl_versions')
      .select(['crl_json', 'digest', 'bytes', 'entries'])
      .where('sequence', '=', sequence)
      .executeTakeFirst()
    expect(row).toEqual({ crl_json: '', digest: digestOf(text), bytes: text.length, entries: ENTRIES + 1 })
  })

  it('a revocation writes the last segment only, and its delta gives the same bytes', async () => {
    const { sequence: before } = await readList()
    await revoke()
    await revoke()
    const { text, sequence } = await readList()
    expect([await written(before + 1), await written(sequence)]).toEqual([[LAST], [LAST]])
    expect((await rebuild(before)) === text).toBe(true)
  })

  it('entries that end change their segments only', async () => {
    const { sequence: before } = await readList()
    clock.advance(3 * 3600)
    await revoke()
    const { text, sequence } = await readList()
    expect(await written(sequence)).toEqual([1, 7, LAST])
    expect(text).not.toMatch(/"cert-(?:1500|1501|7000)"/)
    expect((await rebuild(before)) === text).toBe(true)
  })

  it('is served byte for byte by sequence, with ETag, also by an instance that did not build it', async () => {
    for (const [sequence, text] of served)
      for (const authority of [na, other]) {
        const answer = await authority.request('GET', `/crl/${sequence}`)
        expect(answer.text === text, String(sequence)).toBe(true)
        const headers = { 'If-None-Match': String(answer.headers.etag) }
        expect((await authority.request('GET', `/crl/${sequence}`, { headers })).status).toBe(304)
      }
    const [own, others] = [await na.request('GET', '/crl'), await other.request('GET', '/crl')]
    expect(others.headers.etag).toBe(own.headers.etag)
    expect(others.headers['chancery-list-head']).toBe(own.headers['chancery-list-head'])
  })

  it('is continued by instances in turn, each with the last segment only', async () => {
    const { sequence: before } = await readList()
    for (const by of [other, na, na, other]) {
      await revoke('unspecified', by)
      const { sequence } = await readList(by)
      expect(await written(sequence)).toEqual([LAST])
    }
    const { text } = await readList()
    expect((await rebuild(before)) === text).toBe(true)
  })

  it('is read by a process that starts, so that its first revocation reads one bucket', async () => {
    const parts = { ...na.parts, entries: new EntriesCache(), builder: new ListBuilder() }
    const { signal } = new AbortController()
    const { text, sequence } = await readList()
    // A compromised key ends all its certificates, so this one has a separate key.
    const { publicKey } = await testSigner('node', 'large-list-raised')
    const seeded = await seedCertificates(na.parts, { count: 1, node_public_key: publicKey, validityHours: 5000 })
    const revoked = seeded[0]?.cert_id ?? ''
    const revokeBy = async (cert_id: string, reason: RevocationReason): Promise<void> => {
      const asked = { cert_ids: [cert_id], onlyThis: true, form: 'cert_id', missing: [], attempt: undefined } as const
      const [outcome] = await revokeBatch(parts, [{ ...asked, reason, cause: {} }])
      expect(outcome).not.toBeInstanceOf(Error)
    }
    try {
      // Not while a row is missing: the next build reports it.
      const row = na.core.database.read.selectFrom('crl_entries').selectAll().where('position', '=', 9001)
      const removed = await row.executeTakeFirstOrThrow()
      await change(({ query }) => query.deleteFrom('crl_entries').where('position', '=', 9001).execute())
      await warmList(parts, signal)
      expect(parts.entries.last).toBeUndefined()
      await change(({ query }) => query.insertInto('crl_entries').values(removed).execute())
      await warmList(parts, signal)
      expect(parts.entries.last).toMatchObject({ sequence, digest: digestOf(text) })
      const { bytes } = parts.entries.last as unknown as { bytes: Uint8Array }
      expect(Buffer.from(bytes).toString('utf8') === text).toBe(true)
      const addTexts = vi.spyOn(parts.builder, 'addTexts')
      await revokeBy(revoked, 'unspecified')
      const read = (): number[][] => addTexts.mock.calls.map(([{ texts }]) => texts.map(([bucket]) => bucket))
      expect(read()).toEqual([[LAST]])
      expect((await readList(other)).sequence).toBe(sequence + 1)
      // A more serious reason changes one entry, wherever it is.
      addTexts.mockClear()
      await revokeBy(revoked, 'key_compromise')
      expect(read()).toEqual([[LAST]])
      expect((await readList(other)).text).toContain(
        canonicalJson({ certificate_id: revoked }).slice(1, -1).concat(',"issuer":"na-test","reason":"key_compromise"'),
      )
    } finally {
      await parts.builder.close()
    }
  })

  it('is continued after a failover that gave the number of the last list to another one', async () => {
    const parts = { ...na.parts, entries: new EntriesCache(), builder: new ListBuilder() }
    try {
      await warmList(parts, new AbortController().signal)
      const { last } = parts.entries
      if (last === undefined || !('state' in last)) throw new Error('the list is in the thread')
      // The list that this process published with the same number: another time, and other entries in one segment.
      const state = await parts.builder.open(last.state)
      const [bucket = 0] = last.manifest.at(-1) ?? []
      await parts.builder.addTexts({ state, texts: [[bucket, '{"certificate_id":"lost"}']] })
      parts.entries.set({ ...last, state, issuedAt: last.issuedAt - 1n })
      const request = { cert_ids: [certificates.pop() ?? ''], onlyThis: true, form: 'cert_id', missing: [] } as const
      const asked = { ...request, attempt: undefined, reason: 'unspecified', cause: {} } as const
      const [outcome] = await revokeBatch(parts, [asked])
      expect(outcome).toMatchObject({ status: 200 })
      expect((await readList()).sequence).toBe(last.sequence + 1)
    } finally {
      await parts.builder.close()
    }
  })

  it('has no problem for the inspection, and one when a segment is missing', async () => {
    const authority = { publicKeys: [na.genesis.network_authority.public_key], sovereign: na.genesis.network_name }
    const problems = async (): Promise<readonly string[]> =>
      (await inspectDatabase(na.core.database.read, authority, inspectStore)).problems.filter((text) =>
        /^crl \d+:/.test(text),
      )
    expect(await problems()).toEqual([])
    const segment = await readSegment(3)
    await change(({ query }) => query.deleteFrom('crl_segments').where('bucket', '=', 3).execute())
    expect((await problems())[0]).toMatch(/^crl \d+: is not a record$/)
    await change(({ query }) => query.insertInto('crl_segments').values(segment).execute())
  })

  describe('is not signed', () => {
    const setBody = (body: Uint8Array): Promise<unknown> =>
      change(({ query }) =>
        query
          .updateTable('crl_segments')
          .set({ body: Buffer.from(body) })
          .where('bucket', '=', 4)
          .execute(),
      )
    const EDITS: [string, () => Promise<() => Promise<unknown>>][] = [
      [
        'a row was deleted',
        async () => {
          const rows = na.core.database.read.selectFrom('crl_entries').selectAll().where('position', '=', 5001)
          const row = await rows.executeTakeFirstOrThrow()
          await change(({ query }) => query.deleteFrom('crl_entries').where('position', '=', 5001).execute())
          return () => change(({ query }) => query.insertInto('crl_entries').values(row).execute())
        },
      ],
      [
        'a segment was replaced by another one',
        async () => {
          const { body } = await readSegment(4)
          await setBody((await readSegment(5)).body)
          return () => setBody(body)
        },
      ],
      [
        'a segment is damaged',
        async () => {
          const { body } = await readSegment(4)
          await setBody(body.subarray(100))
          return () => setBody(body)
        },
      ],
    ]
    it.each(EDITS)('when %s', async (_what, edit) => {
      const restore = await edit()
      const third = await start()
      const discard = vi.spyOn(ListBuilder.prototype, 'discard')
      try {
        const cert_id = certificates.pop() ?? ''
        const answer = await third.as('privileged')('POST', '/admin/revoke', { cert_id, only_this: true })
        expect(refused(answer, 503, 'service_unavailable')['details']).toEqual({ reason: 'crl_incomplete' })
        // Each attempt would leave whole lists in the thread.
        expect(discard.mock.calls.flat(2).length).toBeGreaterThan(0)
        await restore()
        await revoke('unspecified', third, cert_id)
        await readList(third)
      } finally {
        discard.mockRestore()
        await third.stop()
      }
    })
  })

  it('is a file next to the high-water mark, which a recovery reads', async () => {
    await revoke()
    const { text, sequence } = await readList()
    await na.core.rollback.writeMark()
    const mark = await readMark(join(folder, 'mark'), [na.genesis.network_authority.public_key])
    expect(mark).toMatchObject({ crl: { sequence, digest: digestOf(text) }, last_crl: null })
    const file = join(folder, `mark.list-${sequence}.gz`)
    expect(gunzipSync(await readFile(file)).toString('utf8') === text).toBe(true)
    expect((await raiseMark(na.parts, {})).last_crl === text).toBe(true)
    await revoke()
    const next = await readList()
    await na.core.rollback.writeMark()
    expect((await readdir(folder)).sort()).toEqual(['mark', `mark.list-${next.sequence}.gz`])
    await writeFile(join(folder, `mark.list-${next.sequence}.gz`), 'x')
    await expect(raiseMark(na.parts, {})).rejects.toThrow('--crl: is needed')
    await expect(raiseMark(na.parts, { crl: text })).rejects.toThrow('--crl: is older')
    expect((await raiseMark(na.parts, { crl: next.text })).last_crl === next.text).toBe(true)
  })

  it('is one text again when most entries have ended, and its segments are removed with the last version', async () => {
    const { sequence: before } = await readList()
    clock.advance(10 * 3600)
    await revoke()
    const { text, sequence } = await readList()
    const row = await na.core.database.read
      .selectFrom('crl_versions')
      .select(['crl_json', 'segments_json', 'entries'])
      .where('sequence', '=', sequence)
      .executeTakeFirst()
    expect(row?.entries).toBeLessThan(5000)
    expect([row?.crl_json === text, row?.segments_json]).toEqual([true, null])
    expect((await na.request('GET', `/crl/${before}`)).text === served.get(before)).toBe(true)
    await na.core.rollback.writeMark()
    expect(await readdir(folder)).toContain('mark')
    clock.advance(49 * 3600)
    await readList()
    await removeOldLists(na.parts, new AbortController().signal)
    const left = await na.core.database.read.selectFrom('crl_segments').select('bucket').execute()
    expect(left).toEqual([])
  })
})
