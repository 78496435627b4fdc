import { Refusal } from '@chancery/contract'
import { JsonError, admissionRuleId, isJsonObject, readJsonBytes, shape } from '@chancery/protocol'
import type { AdmissionRule, Instant, JsonObject, JsonValue } from '@chancery/protocol'
import { readOrRefuse } from '../../requests/read-fields.ts'

/** What a node sends in the place of an invite. */
export interface Evidence {
  readonly rule_id: string
  readonly token: string
  /** For X.509-SVIDs: the leaf first, each as base64 of its DER form. */
  readonly certificate_chain: readonly string[]
}

/** A node whose response was lost tries again with the same evidence. */
export const MAX_EVIDENCE_USES = 5
const MAX_TOKEN_CHARACTERS = 8192
const MAX_CERTIFICATES = 4
const MAX_CERTIFICATE_CHARACTERS = 8192

const evidenceShape = shape.closed({
  rule_id: shape.required(admissionRuleId),
  token: shape.required(shape.string),
  certificate_chain: shape.withDefault(shape.arrayOf(shape.string, { min: 1, max: MAX_CERTIFICATES }), []),
})

/** Reads the form only. The value is never repeated in an error: it is a secret. */
export function readEvidence(value: JsonValue): Evidence {
  const evidence = readOrRefuse('invalid_join_evidence', () => shape.readRecord(evidenceShape, value))
  const isBounded =
    evidence.token.length <= MAX_TOKEN_CHARACTERS &&
    evidence.certificate_chain.every((text) => text.length <= MAX_CERTIFICATE_CHARACTERS)
  if (!isBounded) throw new Refusal('invalid_join_evidence')
  return evidence
}

/** Why evidence does not admit a node. Stable words: callers and the audit log see them. */
export type EvidenceReason =
  | 'rule_unavailable'
  | 'malformed'
  | 'algorithm_not_allowed'
  | 'key_unknown'
  | 'keys_unavailable'
  | 'signature_invalid'
  | 'issuer_mismatch'
  | 'audience_mismatch'
  | 'not_yet_valid'
  | 'expired'
  | 'lifetime_too_long'
  | 'claims_mismatch'
  | 'certificate_invalid'
  | 'certificate_untrusted'
  | 'evidence_used'
  | 'joins_exhausted'
  | 'other_rule'
  | 'not_fresh'
  | 'certificate_not_expired'
  | 'certificate_unknown'

/** What evidence proves by itself. The claims are not in it. */
export interface Proven {
  readonly issuer: string
  readonly subject: string
  /** SHA-256 of the token, or of the leaf certificate. */
  readonly digest: string
  /** Under which its use is stored. */
  readonly evidenceKey: string
  readonly expiresAt: Instant
  /** Undefined when a JWT-SVID does not say it. */
  readonly issuedAt: Instant | undefined
  readonly maxUses: number
  /** Set when the evidence is the expired certificate of the node key. */
  readonly former?: FormerCertificate
}

/** What the next certificate takes over from the expired one. */
export interface FormerCertificate {
  readonly roles: readonly string[]
  readonly max_validity_hours: number
}

/** Evidence whose signature and claims were verified by a rule. */
export interface VerifiedEvidence extends Proven {
  readonly rule: AdmissionRule
  /** The text of the rule row that was verified. */
  readonly ruleText: string
}

export type EvidenceVerdict =
  | { readonly ok: true; readonly evidence: VerifiedEvidence }
  | { readonly ok: false; readonly reason: EvidenceReason; readonly digest: string }

/** The details of evidence in audit events. */
export function evidenceDetails({ rule, issuer, subject, digest }: VerifiedEvidence): {
  readonly rule_id: string
  readonly evidence_issuer: string
  readonly evidence_subject: string
  readonly evidence_digest: string
} {
  return { rule_id: rule.rule_id, evidence_issuer: issuer, evidence_subject: subject, evidence_digest: digest }
}

/** A compact JWS before its signature is verified. */
export interface ReadToken {
  readonly text: string
  readonly header: JsonObject
  readonly claims: JsonObject
  /** What the signature covers. The signature itself may have several forms. */
  readonly signingInput: string
}

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/
const LIMITS = { maxDepth: 8, maxValues: 500, maxNames: 200 }

/** Undefined for every other form. Strict JSON: a repeated claim would have two readings. */
export function readToken(text: string): ReadToken | undefined {
  const [, headerText, claimsText] = (text.length <= MAX_TOKEN_CHARACTERS && COMPACT.exec(text)) || []
  if (headerText === undefined || claimsText === undefined) return undefined
  const [header, claims] = [readPart(headerText), readPart(claimsText)]
  if (header === undefined || claims === undefined) return undefined
  return { text, header, claims, signingInput: `${headerText}.${claimsText}` }
}

function readPart(text: string): JsonObject | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return undefined
  try {
    const value = readJsonBytes(bytes, LIMITS)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}
