import { Refusal } from '@chancery/contract'
import { type JsonObject, asJson, proveMembership } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { DisclosureParts } from './parts.ts'
import { readProveRequest } from './requests.ts'

/**
 * POST /disclosure/prove
 * Builds a membership proof from the request. It uses no stored state and signs nothing: the verifier of the proof also
 * verifies the commitment. The caller gives the seed of a salted commitment: with a stored one this route would confirm
 * guesses of hidden names.
 */
export async function prove(call: Call, parts: DisclosureParts): Promise<JsonObject> {
  const request = readProveRequest(call.body)
  const proof = proveMembership({ ...request, proof_id: parts.ids.uuid(), now: parts.clock.now() })
  if (proof === undefined) throw new Refusal('prove_failed')
  return asJson(proof)
}
