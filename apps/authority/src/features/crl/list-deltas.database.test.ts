import { CompactCrl, fromUtf8, joinBytes, toUtf8 } from '@chancery/protocol'
import { ManualClock, accepted, refused, seedCertificates, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { ListDeltas } from './list-deltas.ts'

const clock = new ManualClock('2026-03-01T12:00:00Z')
let na: TestAuthority
/** Served texts by sequence. */
const served = new Map<number, string>()
let [first, last] = [0, 0]

async function remember(): Promise<number> {
  const { text } = await na.request('GET', '/crl')
  const { sequence } = JSON.parse(text) as { sequence: number }
  served.set(sequence, text)
  return sequence
}

async function revoke(cert_ids: readonly string[], reason = 'unspecified'): Promise<number> {
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_ids, reason, all_of_key: false }))
  return remember()
}

async function seed(key: string, count: number, validityHours: number): Promise<string[]> {
  const { publicKey } = await testSigner('node', key)
  const seeded = await seedCertificates(na.parts, { count, node_public_key: publicKey, validityHours })
  return seeded.map(({ cert_id }) => cert_id)
}

beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const [long, brief, raised] = [
    await seed('long', 40, 8760),
    await seed('brief', 6, 10),
    await seed('raised', 1, 8760),
  ]
  await remember()
  first = await revoke(long.slice(0, 30))
  await revoke(brief)
  await revoke(raised)
  await revoke(long.slice(30, 32))
  last = await revoke(raised, 'key_compromise')
})
afterAll(() => na.stop())

const ask = (from: number | string): Promise<TestResponse> => na.request('GET', `/crl/delta?from=${from}`)

/** What a reader that has the list `from` makes of the delta. */
async function rebuild(from: number): Promise<string | undefined> {
  const { status, text } = await ask(from)
  expect(status, text).toBe(200)
  const next = CompactCrl.read(toUtf8(served.get(from) ?? ''))?.withDelta(toUtf8(text))
  expect(await next?.isSignedBy([na.genesis.network_authority.public_key])).toBe(true)
  return next && fromUtf8(joinBytes(next.pieces))
}

describe('ListDeltas', () => {
  it('reads the versions again when the served list has another time: a failover may have replaced it', async () => {
    let reads = 0
    const database = {
      get read() {
        reads += 1
        return na.core.database.read
      },
    }
    const deltas = new ListDeltas({ database: database as unknown as typeof na.core.database })
    const { issued_at } = JSON.parse(served.get(last) ?? '') as { issued_at: string }
    const change = await deltas.between(first, { sequence: last, issued_at })
    expect(change).toBeDefined()
    const before = reads
    expect(await deltas.between(first, { sequence: last, issued_at })).toEqual(change)
    expect(reads).toBe(before)
    await deltas.between(first, { sequence: last, issued_at: '2026-01-01T00:00:00Z' })
    expect(reads).toBeGreaterThan(before)
  })
})

describe('GET /crl/delta', () => {
  describe('200', () => {
    it('is served while nothing else of the database may be, so that an outage causes no full downloads', async () => {
      await rebuild(first)
      const halted = vi.spyOn(na.core.rollback, 'isHalted').mockReturnValue(true)
      try {
        expect((await na.request('GET', `/crl/${first}`)).status).toBe(503)
        expect(await rebuild(first)).toBe(served.get(last))
        expect((await ask(last)).status).toBe(200)
      } finally {
        halted.mockRestore()
      }
    })

    it('makes the current list of each earlier one, after additions and a changed reason', async () => {
      expect(last - first).toBe(4)
      for (let from = first; from <= last; from += 1) expect(await rebuild(from), `from ${from}`).toBe(served.get(last))
    })

    it('adds what was added only', async () => {
      const { removed, added } = JSON.parse((await ask(last - 1)).text) as {
        removed: object[]
        added: { at: number }[]
      }
      expect([removed, added.map(({ at }) => at)]).toEqual([[{ at: 36, count: 1 }], [36]])
    })

    it('can be cached as the list, and has its signed head', async () => {
      const { headers } = await ask(first)
      const list = await na.request('GET', '/crl')
      expect(headers['cache-control']).toBe('public, max-age=30, must-revalidate')
      expect(headers['chancery-list-head']).toBe(list.headers['chancery-list-head'])
      const path = `/crl/delta?from=${first}`
      const again = await na.request('GET', path, { headers: { 'If-None-Match': String(headers.etag) } })
      expect(again.status).toBe(304)
    })

    it('makes the list that was signed again, without the entries that ended', async () => {
      clock.advance(13 * 3600)
      last = await remember()
      const { revoked_certificates } = JSON.parse(served.get(last) ?? '') as { revoked_certificates: object[] }
      expect(revoked_certificates).toHaveLength(33)
      for (let from = first; from <= last; from += 1) expect(await rebuild(from), `from ${from}`).toBe(served.get(last))
    })
  })

  it('400 invalid_input without a sequence', async () => {
    for (const from of ['', '-1', '1.5', '01', '1e3', 'x', '9'.repeat(16)])
      expect(refused(await ask(from), 400, 'invalid_input'), from).toMatchObject({ details: { field: 'from' } })
    refused(await na.request('GET', '/crl/delta'), 400, 'invalid_input')
  })

  describe('404 crl_delta_not_found', () => {
    it('for a sequence that was not published', async () => {
      refused(await ask(last + 1), 404, 'crl_delta_not_found')
    })

    it('when more than half of the list is new', async () => {
      refused(await ask(first - 1), 404, 'crl_delta_not_found')
    })

    it('for the list of another key', async () => {
      refused(await ask(`${last}&issuer=na-former`), 404, 'crl_delta_not_found')
      expect((await ask(`${last}&issuer=na-test`)).status).toBe(200)
    })
  })
})

describe('GET /crl/{sequence}', () => {
  it('200: each version as it was signed, for a year', async () => {
    for (const [sequence, text] of served) {
      const answer = await na.request('GET', `/crl/${sequence}`)
      expect(answer.text, String(sequence)).toBe(text)
      expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      const headers = { 'If-None-Match': String(answer.headers.etag) }
      expect((await na.request('GET', `/crl/${sequence}`, { headers })).status).toBe(304)
    }
  })

  it('404 crl_version_not_found', async () => {
    for (const sequence of [String(last + 1), 'x', '-1', '00', '1.0', '9'.repeat(16)])
      refused(await na.request('GET', `/crl/${sequence}`), 404, 'crl_version_not_found')
  })
})

describe('the changes of versions', () => {
  it('are read only as far as a delta may be large', async () => {
    const own = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
    try {
      accepted(await own.request('GET', '/crl'))
      const { read } = own.core.database
      const row = await read.selectFrom('crl_versions').selectAll().executeTakeFirstOrThrow()
      const entry = 'x'.repeat(1_000_000)
      for (let at = 1; at <= 40; at += 1)
        await rowsOf(own.core.database)
          .insertInto('crl_versions')
          .values({
            ...row,
            sequence: row.sequence + at,
            entries: at,
            change_json: JSON.stringify({ removed: [], added: [[at - 1, [entry]]] }),
          })
          .execute()
      let bytes = 0
      const counting: KyselyPlugin = {
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          for (const { change_json } of result.rows) if (typeof change_json === 'string') bytes += change_json.length
          return result
        },
      }
      const newest = row.sequence + 40
      const deltas = new ListDeltas({
        database: { ...own.core.database, read: rowsOf(own.core.database).withPlugin(counting) },
      })
      const list = { sequence: newest, issued_at: row.issued_at }
      expect(await deltas.between(newest - 4, list)).toMatchObject({ removed: [], added: [{ at: 36 }] })
      expect(await deltas.between(newest - 5, list)).toBeUndefined()
      expect(bytes).toBeLessThan(5_000_000)
    } finally {
      await own.stop()
    }
  })
})
