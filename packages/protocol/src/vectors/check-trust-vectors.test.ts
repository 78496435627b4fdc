import { describe, expect, it } from 'vitest'
import * as protocol from '../index.ts'
import { checkTrustVectors } from './check-trust-vectors.ts'
import type { TrustVectors } from './cases.ts'
import trust from './trust.json' with { type: 'json' }

const vectors: TrustVectors = trust

describe('worked examples of protocol/trust-operations', () => {
  it('all hold', async () => {
    const { passed, failures } = await checkTrustVectors(vectors, protocol)
    expect(failures).toEqual([])
    // A missing vector must be detected: the figure changes only together with trust.json or its cases.
    expect(passed).toBe(104)
  })

  it('notice a tree, a score, a digest and a verifier that are wrong', async () => {
    const broken = {
      ...protocol,
      merkleLeaf: () => '',
      scoreCascade: (votes: Parameters<typeof protocol.scoreCascade>[0]) => ({
        ...protocol.scoreCascade(votes),
        temporalClustering: 0,
      }),
      digestOf: () => '',
      verifyReceived: () => Promise.resolve({ ok: true } as const),
    }
    const { failures } = await checkTrustVectors(vectors, broken)
    for (const part of ['E22 tree', 'E26 is', 'E29 DataAccessIntent: SHA-256', 'E22 CapabilityCommitment: the record'])
      expect(failures.some((failure) => failure.startsWith(part))).toBe(true)
  })
})
