import { describe, expect, it } from 'vitest'
import { CLOCK_TOLERANCE } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { checkListAdvance, positionOfFeed, positionOfList } from './revocation-list.ts'
import type { RevocationList } from '../artifacts/crl.ts'
import { LIST } from './worked-records.suite.ts'

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
