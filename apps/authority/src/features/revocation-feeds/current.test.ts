import { readRevocationFeed, seconds, verifyList } from '@chancery/protocol'
import { ManualClock, accepted, refused, startTestAuthority, verifiesElsewhere } from '@chancery/testkit'
import type { TestAnswer, TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const settings = { NA_CLOCK_CHECK: 'off' }
let clock: ManualClock
let na: TestAuthority
beforeEach(async () => {
  clock = new ManualClock('2026-01-02T03:04:05Z')
  na = await startTestAuthority({ clock, settings })
})
afterEach(() => na.stop())

const feed = (): Promise<TestAnswer> => na.request('GET', '/sovereign-revocation-feed')
async function issue(): Promise<string> {
  const body = { subject_id: 'x', roles: ['role:client'] }
  return String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
}
const revoke = async (id: string, reason?: string): Promise<void> =>
  void accepted(
    await na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, reason === undefined ? {} : { reason }),
  )

describe('GET /sovereign-revocation-feed', () => {
  it('before anything was withdrawn is empty, signed, sequence 0, and the same for every reader', async () => {
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
    clock.advance(86_400 * 30)
    expect((await feed()).text).toBe(answers[0]?.text)
    expect(verifiesElsewhere((await feed()).text, na.genesis.network_authority.public_key)).toBe(true)
  })

  it('counts withdrawals: the sequence equals their number, read before or not', async () => {
    const ids = [await issue(), await issue(), await issue()]
    await revoke(ids[0] ?? '', 'left')
    expect(accepted(await feed())).toMatchObject({ sequence: 1, revocation_reasons: { [ids[0] ?? '']: 'left' } })
    await revoke(ids[1] ?? '')
    await revoke(ids[2] ?? '')
    await revoke(ids[2] ?? '')
    const current = readRevocationFeed(accepted(await feed()))
    expect(current.sequence).toBe(3)
    expect(current.revoked_attestation_ids).toEqual([...ids].sort())
    expect(current.revocation_reasons).toEqual({
      [ids[0] ?? '']: 'left',
      [ids[1] ?? '']: 'unspecified',
      [ids[2] ?? '']: 'unspecified',
    })
    expect(await verifyList(current, [na.genesis.network_authority.public_key])).toBe(true)
  })

  it('after the empty feed was read goes on with 1', async () => {
    expect(accepted(await feed())['sequence']).toBe(0)
    await revoke(await issue())
    expect(accepted(await feed())['sequence']).toBe(1)
  })

  it('signs one feed per sequence, and keeps each', async () => {
    const texts: string[] = []
    for (let i = 0; i < 3; i += 1) {
      await revoke(await issue())
      texts.push((await feed()).text, (await feed()).text)
    }
    expect(new Set(texts).size).toBe(3)
    const rows = await na.office.store.db.selectFrom('own_revocation_feeds').selectAll().orderBy('sequence').execute()
    expect(rows.map((row) => row.feed_json)).toEqual([...new Set(texts)])
  })

  it('is never dated before its predecessor, even when the clock was set back', async () => {
    await revoke(await issue())
    clock.set(clock.now() - seconds(200))
    await revoke(await issue())
    expect(accepted(await feed())).toMatchObject({ sequence: 2, issued_at: '2026-01-02T03:04:05Z' })
  })

  it('carries a strong ETag and may be kept for 30 s', async () => {
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

  it.each(['OTHER-NET', 'test-net', ''])('asked for %j is 400 feed_issuer_mismatch', async (issuer) => {
    refused(
      await na.request('GET', `/sovereign-revocation-feed?issuer_sovereign_id=${issuer}`),
      400,
      'feed_issuer_mismatch',
    )
  })

  it('asked for its own name is the feed', async () => {
    expect((await na.request('GET', '/sovereign-revocation-feed?issuer_sovereign_id=TEST-NET')).text).toBe(
      (await feed()).text,
    )
  })

  it('after the window of the genesis block serves what is stored and signs nothing new', async () => {
    const stored = (await feed()).text
    clock.advance(90 * 86_400)
    expect((await feed()).text).toBe(stored)
  })

  it('after the window of the genesis block, with nothing stored, is 503', async () => {
    clock.advance(90 * 86_400)
    refused(await feed(), 503, 'service_unavailable')
  })
})
