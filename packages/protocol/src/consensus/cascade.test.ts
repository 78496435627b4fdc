import { describe, expect, it } from 'vitest'
import { writeInstant } from '../canonical/write-time.ts'
import { type CascadeVote, scoreCascade } from './verify-consensus.ts'

const START = 1_893_456_000_000_000n

/** Votes as [seconds after the start, digest]. */
function votes(...given: readonly (readonly [number, string | null])[]): CascadeVote[] {
  return given.map(([at, context_digest]) => ({
    voted_at: writeInstant(START + BigInt(Math.round(at * 1e6))),
    context_digest,
  }))
}

describe('scoreCascade (protocol/trust-operations 8.3)', () => {
  it.each<[string, CascadeVote[], number, number, boolean]>([
    ['no vote', [], 0, 0, false],
    ['one vote', votes([0, 'a']), 0, 0, false],
    ['one vote without a digest', votes([0, null]), 1, 0, true],
    ['two digests at one instant', votes([0, 'a'], [0, 'b']), 0, 1, false],
    ['one digest far apart', votes([0, 'a'], [3600, 'a']), 1, 0, true],
    ['no digest far apart', votes([0, null], [3600, null]), 1, 0, true],
    ['empty texts are no digest', votes([0, ''], [3600, '']), 1, 0, true],
    ['one of two without a digest', votes([0, 'a'], [3600, null]), 0, 0, false],
    ['two of three equal, at one instant', votes([0, 'a'], [0, 'a'], [0, 'b']), 0.5, 1, true],
    ['two of three equal, far apart', votes([0, 'a'], [80, 'a'], [160, 'b']), 0.5, 0, false],
    // Deviation 24, 25 and 26 seconds: 0.35 + 0.3 × TCS passes 0.4 below 25.
    ['just above the limit', votes([0, 'a'], [24, 'a'], [48, 'b']), 0.5, 1 - 24 / 30, true],
    ['at the limit', votes([0, 'a'], [25, 'a'], [50, 'b']), 0.5, 1 - 25 / 30, false],
    ['just below the limit', votes([0, 'a'], [26, 'a'], [52, 'b']), 0.5, 1 - 26 / 30, false],
  ])('%s', (_name, given, divergence, clustering, isDetected) => {
    const scores = scoreCascade(given)
    expect([scores.contextDivergence, scores.temporalClustering]).toEqual([divergence, clustering])
    expect(scores.score).toBe(0.7 * divergence + 0.3 * clustering)
    expect(scores.isDetected).toBe(isDetected)
  })

  it('names the most frequent digest, of several the first', () => {
    expect(scoreCascade(votes([0, 'z'], [1, 'a'], [2, 'm']))).toMatchObject({ modalDigest: 'z', uniqueDigests: 3 })
    expect(scoreCascade(votes([0, 'z'], [1, 'a'], [2, 'a']))).toMatchObject({ modalDigest: 'a', uniqueDigests: 2 })
    expect(scoreCascade(votes([0, null]))).toMatchObject({ modalDigest: '', uniqueDigests: 0 })
  })

  it('does not depend on the order of the votes', () => {
    const given = votes([0.000_001, 'a'], [17.123_456, 'b'], [3.9, 'a'], [44, 'c'], [8.000_009, 'd'])
    expect(scoreCascade(given.toReversed()).score).toBe(scoreCascade(given).score)
  })
})
