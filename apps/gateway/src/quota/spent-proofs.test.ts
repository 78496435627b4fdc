import { seconds } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { ManualClock } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { PROOF_MS, QuotaUnavailableError } from './quota.ts'
import { SpentProofs } from './spent-proofs.ts'

/** Proofs are accepted until 60 s after their time (docs/protocol/request-proof.md). */
const MAX_AGE = seconds(60)
const GROUP_SECONDS = PROOF_MS / 1000

function open(maxProofs?: number) {
  const clock = new ManualClock('2026-01-02T03:04:05.678Z')
  const proofs = new SpentProofs(clock, maxProofs)
  clock.advance(1)
  return { clock, proofs, spend: (name: string, created: Instant = clock.now()) => proofs.spend({ name, created }) }
}

describe('SpentProofs', () => {
  it('takes each name once', () => {
    const { spend } = open()
    expect([spend('a'), spend('a'), spend('b'), spend('b')]).toEqual([true, false, true, false])
  })

  it('counts a proof from before its start as spent, also one of the same instant', () => {
    const clock = new ManualClock('2026-01-02T03:04:05.678Z')
    const proofs = new SpentProofs(clock)
    expect(proofs.spend({ name: 'before', created: clock.now() - 1n })).toBe(false)
    expect(proofs.spend({ name: 'at', created: clock.now() })).toBe(false)
    expect(proofs.spend({ name: 'after', created: clock.now() + 1n })).toBe(true)
  })

  it('never takes a proof twice while it is current, whenever it was spent', () => {
    for (let startAt = 0; startAt < 2 * GROUP_SECONDS; startAt += 7) {
      const { clock, spend } = open()
      spend('first')
      clock.advance(startAt)
      const created = clock.now()
      expect(spend('once', created)).toBe(true)
      for (; clock.now() - created <= MAX_AGE; clock.advance(5))
        expect([startAt, spend('once', created)]).toEqual([startAt, false])
    }
  })

  it('stays spent when the clock goes back after the name was removed', () => {
    const { clock, spend } = open()
    const created = clock.now()
    expect(spend('old', created)).toBe(true)
    for (let group = 0; group < 3; group += 1) {
      clock.advance(GROUP_SECONDS)
      expect(spend(`later-${group}`)).toBe(true)
    }
    // The name is gone, and its time is not above the floor.
    expect(spend('old', created)).toBe(false)
  })

  it('throws above its limit and lets nothing pass, until a group is removed', () => {
    const { clock, spend } = open(2)
    expect([spend('a'), spend('b')]).toEqual([true, true])
    expect(() => spend('c')).toThrow(QuotaUnavailableError)
    // A name that it has is still an answer.
    expect(spend('a')).toBe(false)
    clock.advance(GROUP_SECONDS)
    expect(() => spend('c')).toThrow(QuotaUnavailableError)
    clock.advance(GROUP_SECONDS)
    expect(spend('c')).toBe(true)
  })
})
