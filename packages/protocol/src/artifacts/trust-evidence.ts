import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { FormError, type Read, type ReadBy, described } from '../reading/schema.ts'
import { boolean, integer, object, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { listOf, signedListForm, yes } from '../reading/trust-form.ts'
import { type Received, verifyReceivedPlainly } from '../signing/received.ts'
import { VALID, type Verdict, invalid } from './verdict.ts'

export const TRUST_VERDICTS = ['allow', 'warn', 'block', 'escalate'] as const
export type TrustVerdict = (typeof TRUST_VERDICTS)[number]

export const SEVERITIES = ['info', 'warn', 'escalate', 'block'] as const
export type Severity = (typeof SEVERITIES)[number]

/** What this product writes; when read, any object of strings will do. */
export type TrustSignal = { readonly code: string; readonly severity: Severity; readonly detail: string }

/** What one sovereign found about another, before it is signed (protocol/trust-operations 2.1). */
export type TrustFinding = {
  readonly source_sovereign_id: string
  readonly target_sovereign_id: string
  readonly verdict: TrustVerdict
  readonly reason: string
  readonly requested_roles: readonly string[]
  readonly trusted: boolean
  readonly hop_count: number
  readonly signals: readonly TrustSignal[]
  readonly evaluated_at: string
}

const signal: Read<JsonObject> = (value, field) => {
  const found = object(value, field)
  for (const [name, text] of Object.entries(found)) {
    if (typeof text !== 'string') throw new FormError(`${field}.${name}`, 'a string is needed')
  }
  return found
}

described(signal, (of) => ({ type: 'object', additionalProperties: of(string) }))

export const trustEvidenceForm = signedListForm({
  evidence_id: yes(identifier),
  issuer_sovereign_id: yes(identifier),
  source_sovereign_id: yes(identifier),
  target_sovereign_id: yes(identifier),
  /** Any text when read: a later release may know more verdicts. */
  verdict: yes(string),
  reason: yes(string),
  requested_roles: yes(listOf(string), []),
  trusted: yes(boolean),
  hop_count: yes(integer(0, Number.MAX_SAFE_INTEGER)),
  signals: yes(listOf(signal), []),
  graph_digest: yes(string),
  // Plain text, not a timestamp: evaluators of other lines write what they like (protocol/trust-operations 2.1).
  evaluated_at: yes(string),
  issued_at: yes(timestamp),
  issued_by: yes(identifier),
  metadata: yes(object, {}),
})

export type TrustEvidence = ReadBy<typeof trustEvidenceForm>

export function draftTrustEvidence(facts: {
  readonly evidence_id: string
  readonly issuer_sovereign_id: string
  readonly finding: TrustFinding
  readonly graph_digest: string
  readonly issued_by: string
  readonly now: Instant
}): TrustEvidence {
  const { finding, now, ...named } = facts
  return { ...finding, ...named, issued_at: writeInstant(now), metadata: {}, signatures: [] }
}

export type TrustEvidenceReason = 'missing_signature' | 'invalid_signature' | 'graph_digest_mismatch'

/**
 * protocol/trust-operations 2.4, in this order:
 * 1. it is signed at all;
 * 2. an accepted key signed it, in exactly this form: otherwise anyone could sign for anyone;
 * 3. it is about the caller's graph: evidence of another graph proves nothing about this one.
 */
export async function verifyTrustEvidence(
  evidence: Received<TrustEvidence>,
  against: { readonly keys: readonly string[]; readonly expectedGraphDigest?: string | undefined },
): Promise<Verdict<TrustEvidenceReason>> {
  const signed = await verifyReceivedPlainly(evidence, against.keys)
  if (!signed.ok) return signed
  const { expectedGraphDigest } = against
  if (expectedGraphDigest !== undefined && expectedGraphDigest !== evidence.record.graph_digest)
    return invalid('graph_digest_mismatch')
  return VALID
}

/** The verdict written inside embedded evidence; undefined where it holds none. */
export function verdictOf(evidence: JsonObject): JsonValue | undefined {
  return Object.hasOwn(evidence, 'verdict') ? evidence['verdict'] : undefined
}
