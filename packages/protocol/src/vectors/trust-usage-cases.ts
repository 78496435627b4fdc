import type * as Protocol from '../index.ts'
import { type Case, type TrustVectors, differs, exampleOf, keyOf } from './cases.ts'

/** E25 to E27: a vote, the assessment of two votes and the proof that holds them. */
export function consensusCases(vectors: TrustVectors, protocol: typeof Protocol): Case[] {
  const keyNamed = (name: string): string => keyOf(vectors.keys, name).public_key
  const proof = (): Protocol.Received<Protocol.ConsensusProof> =>
    protocol.readConsensusProof(signed(vectors, protocol, 'E27'))
  return [
    {
      name: 'E25 names its context by the digest of E13',
      run: () => {
        const vote = protocol.readValidatorVote(protocol.readJson(exampleOf(vectors, 'E25').bytes)).record
        const digest = protocol.voteContextDigest(exampleOf(vectors, 'E13').sha256, 'first')
        return differs(String(vote.context_digest), digest)
      },
    },
    {
      name: 'E26 is the assessment of the votes of E27',
      run: () => {
        const { consensus_id, votes } = proof().record
        const scores = protocol.scoreCascade(votes)
        const assessment = protocol.draftCascadeAssessment(scores, {
          assessment_id: '0b6c1c52-5a0e-4b53-9a53-0d6c0f5f009a',
          consensus_id,
          approve_vote_count: votes.length,
          now: protocol.instantOf('2027-03-04T05:06:30Z'),
        })
        return (
          differs(`${scores.contextDivergence} ${scores.temporalClustering}`, '0 0.5757359312880714') ??
          differs(protocol.canonicalJson(assessment), exampleOf(vectors, 'E26').bytes) ??
          differs(protocol.digestOf(assessment), exampleOf(vectors, 'E26').sha256)
        )
      },
    },
    {
      name: 'E27 holds until its five minutes are over',
      run: async () => {
        const validatorKeys = new Map([
          ['acme-net', keyNamed('na')],
          ['cedar-net', keyNamed('validator')],
        ])
        const verdictAt = async (time: string): Promise<string> => {
          const now = protocol.instantOf(time)
          const trust = { assemblerKeys: [keyNamed('na')], validatorKeys, now }
          return JSON.stringify(await protocol.verifyConsensusProof(proof(), trust))
        }
        return (
          differs(await verdictAt('2027-03-04T05:11:29.999999Z'), '{"ok":true}') ??
          differs(await verdictAt('2027-03-04T05:11:30Z'), '{"ok":false,"reason":"expired"}')
        )
      },
    },
  ]
}

/** E28 and E29: a license and an intent that keeps to it. */
export function usageCases(vectors: TrustVectors, protocol: typeof Protocol): Case[] {
  return [
    {
      name: 'E29 keeps to the license of E28 and to nothing less',
      run: async () => {
        const policy = protocol.readDataLicensePolicy(signed(vectors, protocol, 'E28'))
        const intent = protocol.readDataAccessIntent(signed(vectors, protocol, 'E29'))
        const [agent, licensor] = [keyOf(vectors.keys, 'partner').public_key, keyOf(vectors.keys, 'na').public_key]
        const typesAt = async (time: string, agentKeys: readonly string[]): Promise<string> => {
          const trust = { agentKeys, policyKeys: [[licensor]], now: protocol.instantOf(time) }
          return (await protocol.verifyDataUsage(intent, policy, trust)).map(({ type }) => type).join()
        }
        return (
          differs(await typesAt('2027-03-04T05:06:07Z', [agent]), '') ??
          differs(await typesAt('2027-03-04T05:06:07Z', [licensor]), 'intent_exceeds_license') ??
          differs(await typesAt('2028-01-01T00:00:00.000001Z', [agent]), 'intent_expired,policy_expired')
        )
      },
    },
  ]
}

/** The record of an example with its first signature. */
function signed(vectors: TrustVectors, protocol: typeof Protocol, name: string): Protocol.JsonObject {
  const { bytes, signatures } = exampleOf(vectors, name)
  const { key_id, sig } = signatures[0] ?? { key_id: '', sig: '' }
  return { ...(protocol.readJson(bytes) as Protocol.JsonObject), signature: { key_id, sig } }
}
