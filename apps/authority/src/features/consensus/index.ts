import { setImmediate } from 'node:timers/promises'
import { consensus } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type ConsensusParts, trustJustification } from './trust-justification.ts'
import { proof } from './proof.ts'
import {
  draftValidatorVote,
  readConsensusProof,
  receivedDigest,
  verifyConsensusProof,
  voteContextDigest,
  voteForm,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call, HttpResponse } from '@chancery/service-kit'
import { type OperatorCall, requireTier } from '../../auth/operator.ts'
import { readOrRefuse, readTrustKeys, requirePresent, respondVerdict } from '../../requests/read-fields.ts'
import { issueRecord } from '../../requests/signed-record.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readValidatorKeys, readVoteRequest } from './requests.ts'

/**
 * POST /admin/consensus/vote
 * Signs the vote of this authority on a justification proof: its own, or one of another authority whose keys it knows. A
 * privileged operator may supply the keys of the issuer.
 */
async function castVote(call: OperatorCall, parts: ConsensusParts): Promise<HttpResponse> {
  const request = readVoteRequest(call.body)
  const { justification, vote, reason } = request
  if (request.suppliedKeys.length > 0) await requireTier(call, parts, call.operator, 'privileged')
  const trust = await trustJustification(parts, request)
  const { proof_id, decision_id } = justification.record
  return issueRecord(call, parts, {
    form: voteForm,
    failed: 'vote_failed',
    label: parts.network.name,
    event: 'validator_vote_cast',
    named: ['vote_id', 'proof_id', 'decision_id'],
    draft: (now) =>
      draftValidatorVote({
        vote,
        reason,
        vote_id: parts.ids.uuid(),
        proof_id,
        decision_id,
        validator_sovereign_id: parts.network.name,
        context_digest: voteContextDigest(receivedDigest(justification), parts.ids.uuid()),
        now,
      }),
    store: () => trust,
  })
}

const MANY_VOTES = 64

/**
 * POST /consensus/verify
 * Verifies that enough independent validators approved, with the keys that the caller sends. Writes nothing.
 */
async function verify(call: Call, parts: ConsensusParts): Promise<JsonObject> {
  const presented = requirePresent(call.body, 'proof', 'missing_proof')
  const received = readOrRefuse('invalid_proof', () => readConsensusProof(presented))
  const validatorKeys = readValidatorKeys(call.body)
  const { consensus_id, reached_at, votes } = received.record
  const assemblerKeys = readTrustKeys(call.body, 'assembler_public_keys', ownKeysAt(parts.keys, reached_at))
  // Reading a thousand votes and building their signed bytes are two long steps. The event loop continues in between.
  if (votes.length > MANY_VOTES) await setImmediate()
  const verdict = await verifyConsensusProof(received, { assemblerKeys, validatorKeys, now: parts.clock.now() })
  return { ...respondVerdict(call, parts, verdict, 'valid'), consensus_id }
}

export function openConsensus(parts: ConsensusParts): Feature {
  return {
    routes: [
      bind(consensus.vote, (call) => castVote(call, parts)),
      bind(consensus.proof, (call) => proof(call, parts)),
      bind(consensus.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
