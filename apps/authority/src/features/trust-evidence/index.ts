import { Refusal, type RefusalCode, trustEvidence } from '@chancery/contract'
import {
  SEVERITIES,
  TRUST_VERDICTS,
  draftTrustEvidence,
  field,
  form,
  isJsonObject,
  shape,
  trustEvidenceForm,
  writeInstant,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, TrustEvidence, TrustFinding } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import { type TrustEvidenceParts, verify } from './verify.ts'
import type { Feature } from '../../core.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { issueRecord } from '../../requests/issue-record.ts'

export interface EvidenceFacts {
  readonly finding: TrustFinding
  readonly graph_digest: string
  readonly issuer_sovereign_id: string
  readonly now: Instant
}

/** Signs a finding with the authority's key. */
function sealEvidence(parts: TrustEvidenceParts, facts: EvidenceFacts, code: RefusalCode): Promise<TrustEvidence> {
  const draft = draftTrustEvidence({ ...facts, evidence_id: parts.ids.uuid(), issued_by: parts.signing.keyId })
  return parts.signing.signFormOr(code, trustEvidenceForm, draft)
}

const count = shape.integer(0, Number.MAX_SAFE_INTEGER)
const texts = form.listOf(shape.string)
const path = form.listOf((value) => value)

/** Unknown members are dropped: only these are signed. */
const signal = form.closedPart({
  code: form.yes(field.label),
  severity: form.yes(shape.oneOf(...SEVERITIES)),
  detail: form.yes(shape.string, ''),
})

const decision = form.closedPart({
  source_sovereign_id: form.yes(field.identifier),
  target_sovereign_id: form.yes(field.identifier),
  verdict: form.yes(shape.oneOf(...TRUST_VERDICTS)),
  reason: form.yes(shape.string, ''),
  requested_roles: form.yes(texts, []),
  trusted: form.yes(shape.boolean, false),
  hop_count: form.yes(count, 0),
  signals: form.yes(form.listOf(signal), []),
  evaluated_at: form.yes(shape.string, ''),
  // Only its type is checked: the path is not recorded.
  trust_path: form.yes(path, []),
})

export interface IssueRequest {
  readonly finding: TrustFinding
  readonly graph_digest: string | undefined
}

/** protocol/trust-operations 2.3, checks in the order of its table. */
function readIssueRequest(body: JsonObject): IssueRequest {
  const given = body['decision']
  if (!isJsonObject(given)) throw new Refusal('missing_decision')
  return readOrRefuse('invalid_decision', () => {
    const { trust_path: _path, ...finding } = decision.read(withoutNulls(given), 'decision')
    return { finding, graph_digest: readDigest(body['graph_digest']) }
  })
}

/** Null counts as an absent member (protocol/trust-operations 1.5). */
function withoutNulls(given: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

function readDigest(value: JsonValue | undefined): string | undefined {
  return value === undefined || value === null ? undefined : field.digest(value, 'graph_digest')
}

/**
 * POST /admin/trust-evidence
 * Signs the finding of an operator about a sovereign, with the digest of its graph.
 */
async function issue(call: OperatorCall, parts: TrustEvidenceParts): Promise<HttpResponse> {
  const { finding, ...given } = readIssueRequest(call.body)
  const graph_digest = given.graph_digest ?? (await parts.connectome.graphDigest())
  const issuer_sovereign_id = parts.network.name
  return issueRecord(call, parts, async (_tx, now) => {
    const facts = { finding, graph_digest, issuer_sovereign_id, now }
    const record = await sealEvidence(parts, facts, 'evidence_build_failed')
    const { evidence_id, source_sovereign_id, target_sovereign_id, verdict } = record
    const details = { evidence_id, source_sovereign_id, target_sovereign_id, verdict }
    return { record, type: 'trust_evidence_built', details }
  })
}

/** Signs the current finding of one party about the other, on its behalf (protocol/trust-operations 2.5). */
async function issueFinding(
  parts: TrustEvidenceParts,
  parties: { readonly source: string; readonly target: string },
  code: RefusalCode,
): Promise<TrustEvidence> {
  const now = parts.clock.now()
  const grounded = await parts.connectome.findTrustNow({ ...parties, evaluated_at: writeInstant(now) })
  return sealEvidence(parts, { ...grounded, issuer_sovereign_id: parties.source, now }, code)
}

export interface TrustEvidenceIssuer extends Feature {
  issueFinding(parties: { readonly source: string; readonly target: string }, code: RefusalCode): Promise<TrustEvidence>
}

export function openTrustEvidence(parts: TrustEvidenceParts): TrustEvidenceIssuer {
  return {
    routes: [
      bind(trustEvidence.issue, (call) => issue(call, parts)),
      bind(trustEvidence.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    issueFinding: (parties, code) => issueFinding(parts, parties, code),
    close: () => Promise.resolve(),
  }
}
