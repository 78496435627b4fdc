import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR, type Instant, SECOND, readInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { type TreatyRecordState, isActiveState, nextBoundary, treatyLifecycle } from './lifecycle.ts'

const NOW: Instant = readInstant('2030-01-01T06:00:00Z') ?? 0n

function endingIn(left: Instant): TreatyRecordState {
  return { status: 'active', expires_at: writeInstant(NOW + left), revoked_at: null, revocation_reason: null }
}

function ended(reason: string | null): TreatyRecordState {
  const revoked_at = '2030-01-01T05:00:00Z'
  return { status: 'revoked', expires_at: '2030-01-31T06:00:00Z', revoked_at, revocation_reason: reason }
}

describe('treatyLifecycle (protocol/core 15.3)', () => {
  it.each<[string, Instant, string, string, number]>([
    ['30 days', 720n * HOUR, 'active', 'low', 2_592_000],
    ['72 h and a second', 72n * HOUR + SECOND, 'active', 'low', 259_201],
    ['72 h and a microsecond', 72n * HOUR + 1n, 'active', 'low', 259_200],
    ['72 h', 72n * HOUR, 'expiring_soon', 'medium', 259_200],
    ['a microsecond less than 72 h', 72n * HOUR - 1n, 'expiring_soon', 'medium', 259_199],
    ['24 h and a second', 24n * HOUR + SECOND, 'expiring_soon', 'medium', 86_401],
    ['24 h and a microsecond', 24n * HOUR + 1n, 'expiring_soon', 'medium', 86_400],
    ['24 h', 24n * HOUR, 'expiring_soon', 'high', 86_400],
    ['a microsecond less than 24 h', 24n * HOUR - 1n, 'expiring_soon', 'high', 86_399],
    ['one second', SECOND, 'expiring_soon', 'high', 1],
    ['less than a second', SECOND - 1n, 'expired', 'expired', 0],
    ['nothing', 0n, 'expired', 'expired', 0],
    ['less than nothing', -1n, 'expired', 'expired', 0],
    ['minus 30 days', -720n * HOUR, 'expired', 'expired', 0],
  ])('%s before the end', (_what, left, state, expiry_risk, seconds) => {
    const standing = endingIn(left)
    expect(treatyLifecycle(standing, NOW)).toEqual({
      state,
      expiry_risk,
      seconds_until_expiry: seconds,
      expires_at: standing.expires_at,
      revoked_at: null,
      revocation_reason: null,
      replacement_treaty_id: null,
    })
  })

  it.each<[string | null, 'revoked' | 'replaced', string | null]>([
    ['relationship_ended', 'revoked', null],
    ['unspecified', 'revoked', null],
    [null, 'revoked', null],
    ['', 'revoked', null],
    ['replaced_by:t-2', 'replaced', 't-2'],
    ['renewed_by:t-2', 'replaced', 't-2'],
    // After the first colon, whatever follows.
    ['replaced_by:urn:treaty:2', 'replaced', 'urn:treaty:2'],
    ['renewed_by: ', 'replaced', ' '],
    ['replaced_by:', 'revoked', null],
    ['renewed_by:', 'revoked', null],
    ['replaced_by', 'revoked', null],
    ['renewed_by', 'revoked', null],
    ['was replaced_by:t-2', 'revoked', null],
    ['Replaced_by:t-2', 'revoked', null],
    ['replaced-by:t-2', 'revoked', null],
    ['replaced_by :t-2', 'revoked', null],
  ])('revoked because of %j is %s', (reason, state, replacement) => {
    const standing = ended(reason)
    const lifecycle = {
      state,
      expiry_risk: 'none',
      seconds_until_expiry: null,
      expires_at: standing.expires_at,
      revoked_at: standing.revoked_at,
      revocation_reason: reason,
      replacement_treaty_id: replacement,
    }
    expect(treatyLifecycle(standing, NOW)).toEqual(lifecycle)
    // An expired treaty that was revoked stays revoked.
    expect(treatyLifecycle(standing, NOW + 10_000n * HOUR)).toEqual(lifecycle)
  })

  it('reads a reason only of a revoked treaty', () => {
    const standing = { ...endingIn(100n * HOUR), revocation_reason: 'replaced_by:t-2' }
    expect(treatyLifecycle(standing, NOW)).toMatchObject({ state: 'active', replacement_treaty_id: null })
  })

  it('reads the end in every form a signed record may have', () => {
    for (const expires_at of ['2030-01-02T06:00:00', '2030-01-02T06:00:00.000000000Z', '2030-01-02T07:30:00+01:30']) {
      expect(treatyLifecycle({ ...endingIn(0n), expires_at }, NOW)).toMatchObject({
        expiry_risk: 'high',
        seconds_until_expiry: 86_400,
        expires_at,
      })
    }
  })
})

describe('isActiveState', () => {
  it.each([
    ['active', true],
    ['expiring_soon', true],
    ['expired', false],
    ['revoked', false],
    ['replaced', false],
  ] as const)('%s: %s', (state, isActive) => {
    expect(isActiveState(state)).toBe(isActive)
  })
})

describe('nextBoundary', () => {
  const standingAt = (standing: TreatyRecordState, now: Instant): string => {
    const { state, expiry_risk } = treatyLifecycle(standing, now)
    return `${state} ${expiry_risk}`
  }

  it('is the first instant at which state or risk is another, and nothing changes before it', () => {
    const left = fc.oneof(
      fc.bigInt({ min: -2n * HOUR, max: 100n * HOUR }),
      // Around the boundaries themselves.
      fc
        .tuple(fc.constantFrom(0n, SECOND, 24n * HOUR, 72n * HOUR), fc.bigInt({ min: -3n, max: 3n }))
        .map(([at, by]) => at + by),
    )
    fc.assert(
      fc.property(left, fc.bigInt({ min: 0n, max: 2n ** 40n }), (remaining, step) => {
        const standing = endingIn(remaining)
        const boundary = nextBoundary(standing, NOW)
        const before = standingAt(standing, NOW)
        if (boundary === undefined) {
          expect(before).toBe('expired expired')
          expect(standingAt(standing, NOW + step)).toBe(before)
          return
        }
        expect(boundary > NOW).toBe(true)
        expect(standingAt(standing, boundary - 1n)).toBe(before)
        expect(standingAt(standing, NOW + (step % (boundary - NOW)))).toBe(before)
        expect(standingAt(standing, boundary)).not.toBe(before)
      }),
      { numRuns: 2000 },
    )
  })

  it('never comes for a revoked treaty', () => {
    for (const reason of ['over', 'replaced_by:t-2']) expect(nextBoundary(ended(reason), NOW)).toBeUndefined()
  })
})
