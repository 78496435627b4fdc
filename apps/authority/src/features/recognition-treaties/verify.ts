import { Refusal } from '@chancery/contract'
import { type JsonObject, readRecognitionTreaty } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { RecognitionTreatiesParts } from './parts.ts'
import { readKeyList, readOrRefuse } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'
import { countsHere, verifyPostedTreaty } from './verify-posted.ts'

/**
 * POST /recognition-treaties/verify
 * Verifies a treaty: an own one as stored, a partner's one with recognised or supplied keys. It states nothing about
 * the members of its subject. Writes nothing.
 */
export async function verify(call: Call, parts: RecognitionTreatiesParts): Promise<JsonObject> {
  const treaty = readOrRefuse('invalid_recognition_treaty', () => readRecognitionTreaty(call.body['treaty'] ?? null))
  const supplied = readKeyList(call.body['issuer_public_keys'])
  const expected = {
    issuer: readExpected(call.body, 'expected_issuer_sovereign_id'),
    subject: readExpected(call.body, 'expected_subject_sovereign_id'),
  }
  const posted = call.body['treaty'] ?? null
  const { verdict, trust_basis } = await verifyPostedTreaty(parts, treaty, posted, supplied, 'genuine', expected)
  const reason = verdict.ok ? 'accepted' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  return {
    accepted: verdict.ok,
    reason,
    trust_basis,
    counts_here: countsHere(verdict.ok, trust_basis),
    treaty_id: treaty.treaty_id,
    issuer_sovereign_id: treaty.issuer_sovereign_id,
    subject_sovereign_id: treaty.subject_sovereign_id,
  }
}

function readExpected(body: JsonObject, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new Refusal('invalid_recognition_treaty', { field: name })
  return value
}
