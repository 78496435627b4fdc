import { SEVERITIES, TRUST_VERDICTS, form, shape, trustEvidenceForm } from '@chancery/protocol'
import { type AnswerOf, type SentOf, openBody } from '../form.ts'
import { count, flag, record, recordOrText, signedRecord, text } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, nullable, oneOf, open, optional, required } = shape

const max = form.MAX_ITEMS

/** A finding about a network; absent members get the defaults of protocol/trust-operations 2.3. */
const decision = open({
  source_sovereign_id: text,
  target_sovereign_id: text,
  verdict: required(oneOf(...TRUST_VERDICTS)),
  reason: optional(shape.string),
  requested_roles: optional(arrayOf(shape.string, { max })),
  trusted: optional(shape.boolean),
  hop_count: optional(count),
  signals: optional(
    arrayOf(open({ code: text, severity: required(oneOf(...SEVERITIES)), detail: optional(shape.string) }), { max }),
  ),
  evaluated_at: optional(shape.string),
  /** Read and not recorded. */
  trust_path: optional(arrayOf(shape.object, { max })),
})

const facts = {
  issue: {
    id: 'POST /admin/trust-evidence',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Issue trust evidence',
    purpose: 'Signs a trust decision together with the digest of the graph it rests on.',
    errors: ['conflict', 'evidence_build_failed', 'invalid_decision', 'missing_decision'],
    repeatable: true,
    body: openBody(
      'invalid_decision',
      {
        decision: required(decision),
        /** The current graph when left out. */
        graph_digest: optional(shape.string),
      },
      {
        decision: {
          source_sovereign_id: '<sovereign id>',
          target_sovereign_id: '<sovereign id>',
          verdict: 'allow',
          requested_roles: ['role:client'],
        },
      },
    ),
    answer: signedRecord('trust-evidence', trustEvidenceForm),
    gateway: { operation: 'evidence-build', group: 'evidence' },
  },
  verify: {
    id: 'POST /trust-evidence/verify',
    access: 'public',
    limit: 'verify',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Verify trust evidence',
    purpose: 'Verifies trust evidence without storing anything.',
    errors: ['invalid_evidence', 'invalid_public_keys', 'missing_evidence'],
    body: openBody(
      'invalid_evidence',
      {
        evidence: required(recordOrText(record('trust-evidence', trustEvidenceForm.read))),
        issuer_public_keys: optional(arrayOf(shape.string, { max: 64 })),
        expected_graph_digest: optional(nullable(shape.string)),
      },
      { evidence: { paste: '<trust evidence>' }, issuer_public_keys: ['<public key>'] },
    ),
    answer: open({ accepted: flag, reason: text, evidence_id: text, issuer_sovereign_id: text, verdict: text }),
    idempotent: true,
    records: { evidence: 'invalid_evidence' },
    gateway: { operation: 'evidence-verify', group: 'evidence' },
  },
} as const

/** Signed records of trust decisions (protocol/trust-operations 2). */
export const trustEvidence: Routes<typeof facts> = routes(facts)

export type TrustEvidenceRequest = SentOf<typeof trustEvidence.issue>
export type TrustDecision = TrustEvidenceRequest['decision']
export type TrustEvidenceVerdict = AnswerOf<typeof trustEvidence.verify>
