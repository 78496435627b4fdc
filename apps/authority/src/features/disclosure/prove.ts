import { Refusal } from '@chancery/contract'
import { asJson, proveMembership } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { DisclosureParts } from './parts.ts'
import { readProveRequest } from './requests.ts'

/**
 * POST /disclosure/prove
 * Builds a membership proof from what the caller sends. No state of the authority is used, and nothing is signed: who
 * relies on the proof verifies the commitment.
 */
export async function prove(call: Call, parts: DisclosureParts): Promise<JsonObject> {
  const request = readProveRequest(call.body)
  const proof = proveMembership({ ...request, proof_id: parts.ids.uuid(), now: parts.clock.now() })
  if (proof === undefined) throw new Refusal('prove_failed')
  return asJson(proof)
}
