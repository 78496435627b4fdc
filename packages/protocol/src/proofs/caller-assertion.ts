import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { closed, oneOf, required, string } from '../reading/shape.ts'
import { readAttestation } from '../artifacts/attestation.ts'
import { PROOF_AUDIENCE, isAskedAttestation } from './caller-proof.ts'
import type { CallerProofReason, CallerQuestion, CallerVerdict } from './caller-proof.ts'
import { isAssertionSigned, readCarriedClaim, readClientAssertion } from './client-assertion.ts'
import type { AssertionRefusal } from './client-assertion.ts'

const KIND = 'client_assertion'

/** A client assertion as the proof of the caller of a relay, as received. */
const form = closed({
  kind: required(oneOf(KIND)),
  client_assertion: required(string),
  audience: required(string),
})

/** Maximum age of an assertion at the authority: the gateway checks it first, within a minute. */
const MAX_AGE_SECONDS = 120

/** True for the form of a client assertion. A request proof has no kind. */
export function isCallerAssertion(given: JsonValue): given is JsonObject {
  return isJsonObject(given) && member(given, 'kind') !== undefined
}

/** The reasons of the token endpoint, as the authority reports them. */
const REASONS: Readonly<Record<AssertionRefusal, CallerProofReason>> = {
  assertion_malformed: 'malformed',
  assertion_algorithm: 'malformed',
  wrong_audience: 'malformed',
  assertion_stale: 'stale',
  certificate_malformed: 'certificate_malformed',
  client_id_mismatch: 'certificate_malformed',
}

/** Checks the assertion of a caller as far as no state is needed (docs/protocol/access-tokens.md). */
export async function verifyCallerAssertion(given: JsonValue, { asked, now }: CallerQuestion): Promise<CallerVerdict> {
  const proof = readOrUndefined(() => form(given, ''))
  if (proof === undefined || !PROOF_AUDIENCE.test(proof.audience)) return { ok: false, reason: 'malformed' }
  const { audience } = proof
  const rules = { audience, clientId: undefined, now, maxAgeSeconds: MAX_AGE_SECONDS, mayHaveEnded: true }
  const assertion = readClientAssertion(proof.client_assertion, rules)
  if (typeof assertion === 'string') return { ok: false, reason: REASONS[assertion] }
  if (!(await isAssertionSigned(assertion))) return { ok: false, reason: 'signature_invalid' }
  const { certificate, attestation, jti: nonce, issuedAt: created } = assertion
  const carried = readCarriedClaim(attestation, (wire) => ({ record: readAttestation(wire), wire }))
  if (attestation !== undefined && !isAskedAttestation(carried, asked))
    return { ok: false, reason: 'attestation_mismatch' }
  return { ok: true, caller: { certificate, audience, nonce, created, kind: KIND } }
}
