import { type Instant, seconds } from '@chancery/protocol'
import { ManualClock } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { PROOF_MS, QuotaUnavailableError, type SpentProof } from './quota.ts'
import { SpentProofs } from './local-quota.ts'

/** Proofs are accepted until 60 s after their time (docs/protocol/request-proof.md). */
const MAX_AGE = seconds(60)
const GROUP_SECONDS = PROOF_MS / 1000

function open(maxProofs?: number) {
  const clock = new ManualClock('2026-01-02T03:04:05.678Z')
  const proofs = new SpentProofs(clock, clock.now(), maxProofs)
  clock.advance(1)
  return { clock, spend: (name: string, created: Instant = clock.now()) => spendOne(proofs, { name, created }) }
}

function spendOne(proofs: SpentProofs, proof: SpentProof): boolean {
  if (proofs.isSpent(proof)) return false
  proofs.checkRoom()
  proofs.add(proof)
  return true
}

describe('SpentProofs', () => {
  it('takes each name once', () => {
    const { spend } = open()
    expect([spend('a'), spend('a'), spend('b'), spend('b')]).toEqual([true, false, true, false])
  })

  it('counts a proof from before its start as spent, also one of the same instant', () => {
    const clock = new ManualClock('2026-01-02T03:04:05.678Z')
    const proofs = new SpentProofs(clock, 0n)
    expect(spendOne(proofs, { name: 'before', created: clock.now() - 1n })).toBe(false)
    expect(spendOne(proofs, { name: 'at', created: clock.now() })).toBe(false)
    expect(spendOne(proofs, { name: 'after', created: clock.now() + 1n })).toBe(true)
  })

  it('counts a proof up to the mark of an earlier process as spent, also one that is dated ahead', () => {
    const clock = new ManualClock('2026-01-02T03:04:05.678Z')
    const mark = clock.now() + seconds(28)
    const proofs = new SpentProofs(clock, mark)
    expect(spendOne(proofs, { name: 'ahead', created: mark })).toBe(false)
    expect(spendOne(proofs, { name: 'later', created: mark + 1n })).toBe(true)
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
