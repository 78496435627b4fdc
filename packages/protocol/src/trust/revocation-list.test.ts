import { describe, expect, it } from 'vitest'
import { CLOCK_TOLERANCE, seconds } from '../canonical/time.ts'
import { FormError } from '../reading/schema.ts'
import { instantOf } from '../reading/text.ts'
import { type RevocationList, readRevocationList } from '../artifacts/crl.ts'
import { checkListAdvance, isAuthenticList, listProblems, positionOfFeed, positionOfList } from './revocation-list.ts'
import { AUTHORITY_KEY, LIST, NODE_KEY, keyBytes } from './worked-records.suite.ts'

const anchors = new Map([['na-main', keyBytes(AUTHORITY_KEY)]])

describe('readRevocationList', () => {
  it('reads the worked example as it is', () => {
    expect(readRevocationList(LIST)).toEqual(LIST)
  })

  it('keeps a reason no authority of ours would write: it is the issuer’s own text', () => {
    const entry = { ...LIST.revoked_certificates[0], reason: 'a "quoted" text' }
    expect(readRevocationList({ ...LIST, revoked_certificates: [entry] }).revoked_certificates[0]?.reason).toBe(
      'a "quoted" text',
    )
  })

  it.each([
    ['an unknown member', { ...LIST, note: 'x' }, 'note'],
    ['an unknown member of an entry', { ...LIST, revoked_certificates: [{ certificate_id: 'x', extra: 1 }] }, 'extra'],
    ['a negative sequence', { ...LIST, sequence: -1 }, 'sequence'],
    ['a sequence beyond 2^53-1', { ...LIST, sequence: 2n ** 53n }, 'sequence'],
    ['a time that is no instant', { ...LIST, issued_at: 'yesterday' }, 'issued_at'],
    ['a reversed interval', { ...LIST, next_update: '2026-03-01T00:00:00Z' }, 'next_update'],
  ])('refuses %s', (_name, value, field) => {
    expect(() => readRevocationList(value as never)).toThrow(FormError)
    expect(() => readRevocationList(value as never)).toThrow(field)
  })
})

describe('isAuthenticList', () => {
  it('accepts the worked example under its key', async () => {
    expect(await isAuthenticList(LIST, anchors)).toBe(true)
  })

  const changed: readonly (readonly [string, RevocationList])[] = [
    ['a changed sequence', { ...LIST, sequence: 10 }],
    ['an added entry', { ...LIST, revoked_certificates: [...LIST.revoked_certificates, ...LIST.revoked_certificates] }],
    ['no signature', { ...LIST, signatures: [] }],
    ['a signature under another id', { ...LIST, signatures: LIST.signatures.map((s) => ({ ...s, key_id: 'other' })) }],
    ['an issuer that is no anchor', { ...LIST, issuer: 'na-other' }],
    [
      'an entry of another issuer',
      { ...LIST, revoked_certificates: LIST.revoked_certificates.map((e) => ({ ...e, issuer: 'na-other' })) },
    ],
  ]
  it.each(changed)('refuses %s', async (_name, list) => {
    expect(await isAuthenticList(list, anchors)).toBe(false)
  })

  it('refuses the worked example under another key', async () => {
    expect(await isAuthenticList(LIST, new Map([['na-main', keyBytes(NODE_KEY)]]))).toBe(false)
  })

  it('ignores other signatures', async () => {
    const foreign = { key_id: 'someone', sig: `${'A'.repeat(86)}==` }
    expect(await isAuthenticList({ ...LIST, signatures: [foreign, ...LIST.signatures] }, anchors)).toBe(true)
  })
})

describe('listProblems', () => {
  const freshness = { maxAge: seconds(43_200), clockSkew: seconds(30) }
  it.each([
    ['2026-03-02T00:00:00Z', 0, []],
    ['2026-03-01T23:59:30Z', 0, []],
    ['2026-03-01T23:59:29.999999Z', 0, ['crl_stale']],
    ['2026-03-02T12:00:00Z', 0, []],
    ['2026-03-02T12:00:00.000001Z', 0, ['crl_too_old']],
    ['2026-03-03T00:00:00Z', 0, ['crl_stale', 'crl_too_old']],
    ['2026-03-02T01:00:00Z', 10, ['crl_below_floor']],
    ['2026-03-02T01:00:00Z', 9, []],
  ])('at %s with floor %i: %j', (now, floor, expected) => {
    expect(listProblems(positionOfList(LIST), floor, freshness, instantOf(now))).toEqual(expected)
  })

  it('no skew extends next_update', () => {
    const wide = { maxAge: seconds(31_536_000), clockSkew: seconds(300) }
    expect(listProblems(positionOfList(LIST), 0, wide, instantOf('2026-03-02T23:59:59.999999Z'))).toEqual([])
    expect(listProblems(positionOfList(LIST), 0, wide, instantOf('2026-03-03T00:00:00Z'))).toEqual(['crl_stale'])
  })
})

const NOW = instantOf('2026-03-02T12:00:00Z')

describe('checkListAdvance', () => {
  const stored = positionOfList(LIST)
  const later = { ...LIST, issued_at: '2026-03-02T06:00:00Z', next_update: '2026-03-03T06:00:00Z' }
  const reordered = [{ ...LIST.revoked_certificates[0], certificate_id: 'cert-1' }, ...LIST.revoked_certificates]
  it.each([
    ['the same list', LIST, 'ok'],
    ['a re-signed list with new times', later, 'ok'],
    ['a higher sequence', { ...later, sequence: 10, revoked_certificates: [] }, 'ok'],
    ['a lower sequence', { ...later, sequence: 8 }, 'rollback'],
    [
      'a higher sequence issued earlier',
      { ...LIST, sequence: 10, issued_at: '2026-03-01T23:59:59.999999Z' },
      'rollback',
    ],
    ['another content at the same sequence', { ...later, revoked_certificates: [] }, 'equivocation'],
    ['more entries at the same sequence', { ...later, revoked_certificates: reordered }, 'equivocation'],
    [
      'another content issued earlier',
      { ...LIST, issued_at: '2026-03-01T00:00:00Z', revoked_certificates: [] },
      'equivocation',
    ],
    ['another issuer', { ...later, issuer: 'na-second' }, 'other_issuer'],
  ] as readonly (readonly [string, RevocationList, string])[])('%s: %s', (_name, offered, expected) => {
    const verdict = checkListAdvance(stored, positionOfList(offered), NOW)
    expect(verdict.ok ? 'ok' : verdict.reason).toBe(expected)
  })

  it('a held list that is dated ahead sets no lower bound for the time of the next, only for its number', () => {
    const ahead = { ...stored, issuedAt: NOW + CLOCK_TOLERANCE + 1n }
    const offered = { ...stored, sequence: stored.sequence + 1, issuedAt: NOW }
    expect(checkListAdvance(ahead, offered, NOW)).toEqual({ ok: true })
    expect(checkListAdvance(ahead, { ...offered, sequence: stored.sequence - 1 }, NOW)).toMatchObject({
      reason: 'rollback',
    })
    expect(checkListAdvance(ahead, { ...offered, sequence: stored.sequence, entriesDigest: 'b' }, NOW)).toMatchObject({
      reason: 'equivocation',
    })
    const within = { ...stored, issuedAt: NOW + CLOCK_TOLERANCE }
    expect(checkListAdvance(within, offered, NOW)).toMatchObject({ reason: 'rollback' })
  })
})

describe('positionOfFeed', () => {
  const feed = {
    feed_id: 'f-1',
    issuer_sovereign_id: 'NET',
    sequence: 3,
    issued_at: '2026-03-02T00:00:00Z',
    revoked_attestation_ids: ['a', 'b'],
    revocation_reasons: {},
    issued_by: 'na-main',
    signatures: [],
  }
  it('is the same for a feed that was signed again, and another for other ids', () => {
    const stored = positionOfFeed(feed)
    const again = { ...feed, feed_id: 'f-2', issued_at: '2026-03-02T01:00:00Z' }
    expect(checkListAdvance(stored, positionOfFeed(again), NOW)).toEqual({ ok: true })
    const other = { ...again, revoked_attestation_ids: ['a', 'c'] }
    expect(checkListAdvance(stored, positionOfFeed(other), NOW)).toEqual({ ok: false, reason: 'equivocation' })
  })
})
