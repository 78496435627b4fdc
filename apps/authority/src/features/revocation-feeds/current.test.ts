import { createHash } from 'node:crypto'
import { readRevocationFeed, seconds, verifyList } from '@chancery/protocol'
import { ManualClock, accepted, refused, startTestAuthority, verifiesWithNodeCrypto } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshFeed } from './feed-index.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const settings = { NA_CLOCK_CHECK: 'off' }
let clock: ManualClock
let na: TestAuthority
beforeEach(async () => {
  clock = new ManualClock('2026-01-02T03:04:05Z')
  na = await startTestAuthority({ clock, settings })
})
afterEach(() => na.stop())

const feed = (): Promise<TestResponse> => na.request('GET', '/sovereign-revocation-feed')
async function issue(validity_hours = 168): Promise<string> {
  const body = { subject_id: 'x', roles: ['role:client'], validity_hours }
  return String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
}
const revoke = async (id: string, reason?: string): Promise<void> =>
  void accepted(
    await na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, reason === undefined ? {} : { reason }),
  )

describe('GET /sovereign-revocation-feed', () => {
  it('before the first revocation is empty, signed, sequence 0, and the same for every reader', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => feed()))
    expect(accepted(answers[0] ?? (await feed()))).toEqual({
      feed_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      issuer_sovereign_id: 'TEST-NET',
      sequence: 0,
      issued_at: '2026-01-02T03:04:05Z',
      revoked_attestation_ids: [],
      revocation_reasons: {},
      issued_by: 'na-test',
      signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
    })
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    clock.advance(43_199)
    expect((await feed()).text).toBe(answers[0]?.text)
    expect(verifiesWithNodeCrypto((await feed()).text, na.genesis.network_authority.public_key)).toBe(true)
  })

  it('has the next sequence with each revocation, read before or not, and its total in a header', async () => {
    const ids = [await issue(), await issue(), await issue()]
    await revoke(ids[0] ?? '', 'left')
    expect(accepted(await feed())).toMatchObject({ sequence: 1, revocation_reasons: { [ids[0] ?? '']: 'left' } })
    await revoke(ids[1] ?? '')
    await revoke(ids[2] ?? '')
    await revoke(ids[2] ?? '')
    const current = readRevocationFeed(accepted(await feed()))
    expect(current.sequence).toBe(3)
    expect((await feed()).headers['chancery-feed-total']).toBe('3')
    expect(current.revoked_attestation_ids).toEqual([...ids].sort())
    expect(current.revocation_reasons).toEqual({
      [ids[0] ?? '']: 'left',
      [ids[1] ?? '']: 'unspecified',
      [ids[2] ?? '']: 'unspecified',
    })
    expect(await verifyList(current, [na.genesis.network_authority.public_key])).toBe(true)
  })

  it('continues with 1 after the empty feed was read', async () => {
    expect(accepted(await feed())['sequence']).toBe(0)
    await revoke(await issue())
    expect(accepted(await feed())['sequence']).toBe(1)
  })

  it('signs one feed per sequence, and stores each', async () => {
    const texts: string[] = []
    for (let i = 0; i < 3; i += 1) {
      await revoke(await issue())
      texts.push((await feed()).text, (await feed()).text)
    }
    expect(new Set(texts).size).toBe(3)
    const rows = await na.core.database.read
      .selectFrom('own_revocation_feeds')
      .select('feed_json')
      .where('sequence', '>', 0)
      .orderBy('sequence')
      .execute()
    expect(rows.map((row) => row.feed_json)).toEqual([...new Set(texts)])
  })

  it('stores the texts of the newest 8 versions, and digests of older ones', async () => {
    accepted(await feed())
    const texts: string[] = [(await feed()).text]
    for (let i = 0; i < 11; i += 1) {
      await revoke(await issue())
      texts.push((await feed()).text)
    }
    const db = na.core.database.read
    const storedFeeds = await db.selectFrom('own_revocation_feeds').select('feed_json').orderBy('sequence').execute()
    expect(storedFeeds.map((row) => row.feed_json)).toEqual(texts.slice(-8))
    const removed = await db.selectFrom('removed_own_feeds').selectAll().orderBy('sequence').execute()
    expect(removed).toEqual(
      texts.slice(0, 4).map((text, sequence) => ({
        sequence,
        feed_id: (JSON.parse(text) as { feed_id: string }).feed_id,
        issued_at: '2026-01-02T03:04:05.000000Z',
        digest: createHash('sha256').update(text).digest('hex'),
        ids: sequence,
        cause: sequence === 0 ? 'refresh' : 'revoke',
      })),
    )
  })

  it('is signed again when it is old, by the first reader, with the same ids and the next sequence', async () => {
    await revoke(await issue(), 'left')
    const old = accepted(await feed())
    clock.advance(43_200)
    const answers = await Promise.all(Array.from({ length: 8 }, () => feed()))
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    const fresh = accepted(answers[0] ?? (await feed()))
    expect(fresh).toMatchObject({
      sequence: Number(old['sequence']) + 1,
      issued_at: '2026-01-02T15:04:05Z',
      revoked_attestation_ids: old['revoked_attestation_ids'],
      revocation_reasons: old['revocation_reasons'],
    })
    expect(fresh['feed_id']).not.toBe(old['feed_id'])
    const events = (await na.auditEvents('revocation_feed_published')).map((event) => event['details'])
    expect(events).toContainEqual({ sequence: fresh['sequence'], ids: 1, total_ids: 1, cause: 'refresh' })
  })

  it('that cannot be signed again is still served, and a reader tries again after ten seconds', async () => {
    const { text } = await feed()
    const lost = vi.spyOn(na.core.signing.signer, 'sign').mockRejectedValue(new Error('the token does not respond'))
    const tries = (): number =>
      lost.mock.calls.filter(([bytes]) => Buffer.from(bytes).includes('"revoked_attestation_ids"')).length
    clock.advance(43_200)
    expect((await feed()).text).toBe(text)
    const before = tries()
    expect(before).toBeGreaterThan(0)
    expect((await feed()).text).toBe(text)
    expect(tries()).toBe(before)
    lost.mockRestore()
    clock.advance(10)
    expect(accepted(await feed())).toMatchObject({ sequence: 1 })
  })

  it('is signed again by a job when it is not read', async () => {
    const old = accepted(await feed())
    clock.advance(43_200)
    await refreshFeed(na.parts, new AbortController().signal)
    const row = await na.core.database.read
      .selectFrom('own_revocation_feeds')
      .select('sequence')
      .orderBy('sequence', 'desc')
      .executeTakeFirst()
    expect(row?.sequence).toBe(Number(old['sequence']) + 1)
    await refreshFeed(na.parts, new AbortController().signal)
    expect(accepted(await feed())['sequence']).toBe(Number(old['sequence']) + 1)
  })

  it('leaves an id out a day after its attestation has ended; the attestation stays revoked', async () => {
    const [brief, long] = [await issue(1), await issue(1000)]
    await revoke(brief)
    clock.advance(3600 + 86_400 - 1)
    await revoke(long)
    expect(accepted(await feed())['revoked_attestation_ids']).toEqual([brief, long].sort())
    clock.advance(2)
    await revoke(await issue(1000))
    const pruned = accepted(await feed())
    expect(pruned['revoked_attestation_ids']).not.toContain(brief)
    expect(pruned['revoked_attestation_ids']).toContain(long)
    expect(accepted(await na.request('GET', `/attestations/${brief}`))['status']).toBe('revoked')
    // A clock that was ahead removed it too early. With the correct time it is listed again.
    clock.set(clock.now() - seconds(3600))
    await revoke(await issue(1000))
    expect(accepted(await feed())['revoked_attestation_ids']).toContain(brief)
  })

  it('an id that the feed table lacks is restored with the next revocation', async () => {
    const [first, second] = [await issue(), await issue()]
    await revoke(first)
    clock.advance(3600)
    await rowsOf(na.core.database).deleteFrom('own_feed_ids').where('attestation_id', '=', first).execute()
    await revoke(second)
    expect(accepted(await feed())['revoked_attestation_ids']).toEqual([first, second].sort())
  })

  it('signs no id without a revoked record, and revokes nothing in the meantime', async () => {
    await revoke(await issue())
    const row = await na.core.database.read.selectFrom('own_feed_ids').selectAll().executeTakeFirstOrThrow()
    const db = rowsOf(na.core.database)
    await db
      .insertInto('own_feed_ids')
      .values({ ...row, attestation_id: 'stray' })
      .execute()
    const id = await issue()
    const answer = await na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, {})
    expect(refused(answer, 503, 'service_unavailable')['details']).toEqual({ reason: 'feed_incomplete' })
    expect(accepted(await na.request('GET', `/attestations/${id}`))['status']).toBe('active')
    expect((await feed()).text).not.toContain('stray')
    await db.deleteFrom('own_feed_ids').where('attestation_id', '=', 'stray').execute()
    await revoke(id)
    expect(accepted(await feed())['revoked_attestation_ids']).toContain(id)
  })

  it('is never dated before its predecessor, even when the clock was set back', async () => {
    await revoke(await issue())
    clock.set(clock.now() - seconds(200))
    await revoke(await issue())
    expect(accepted(await feed())).toMatchObject({ sequence: 2, issued_at: '2026-01-02T03:04:05Z' })
  })

  it('has a strong ETag and may be cached for 30 s', async () => {
    const first = await feed()
    expect(first.headers['cache-control']).toBe('public, max-age=30, must-revalidate')
    const etag = String(first.headers.etag)
    expect(etag).toMatch(/^"[^"]+"$/)
    const again = await na.request('GET', '/sovereign-revocation-feed', { headers: { 'If-None-Match': etag } })
    expect([again.status, again.text]).toEqual([304, ''])
    await revoke(await issue())
    const after = await na.request('GET', '/sovereign-revocation-feed', { headers: { 'If-None-Match': etag } })
    expect(after.status).toBe(200)
    expect(after.headers.etag).not.toBe(etag)
  })

  it.each(['OTHER-NET', 'test-net', ''])('requested for %j is 400 feed_issuer_mismatch', async (issuer) => {
    refused(
      await na.request('GET', `/sovereign-revocation-feed?issuer_sovereign_id=${issuer}`),
      400,
      'feed_issuer_mismatch',
    )
  })

  it('requested for its own name is the feed', async () => {
    expect((await na.request('GET', '/sovereign-revocation-feed?issuer_sovereign_id=TEST-NET')).text).toBe(
      (await feed()).text,
    )
  })

  it('after the validity period of the genesis block serves the stored feed and signs nothing new', async () => {
    const stored = (await feed()).text
    clock.advance(90 * 86_400)
    expect((await feed()).text).toBe(stored)
  })

  it('after the validity period of the genesis block, with nothing stored, is 503', async () => {
    clock.advance(90 * 86_400)
    refused(await feed(), 503, 'service_unavailable')
  })
})
