import { Refusal, type RefusalCode, trustEvidence } from '@chancery/contract'
import {
  SEVERITIES,
  TRUST_VERDICTS,
  draftTrustEvidence,
  field,
  form,
  isJsonObject,
  readReceived,
  shape,
  trustEvidenceForm,
  verifyTrustEvidence,
  writeInstant,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, TrustEvidence } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import type { Feature, FeatureBase } from '../../core.ts'
import { readOrRefuse, readTrustKeys, requirePresent, respondVerdict } from '../../requests/read-fields.ts'
import type { Call, HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { issueRecord } from '../../requests/signed-record.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import type { Connectome } from '../connectome/index.ts'

interface TrustEvidenceParts extends FeatureBase {
  readonly connectome: Connectome
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

/** protocol/trust-operations 2.3, checks in the order of its table. */
function readIssueRequest(body: JsonObject) {
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
  return issueRecord(call, parts, {
    form: trustEvidenceForm,
    failed: 'evidence_build_failed',
    event: 'trust_evidence_built',
    named: ['evidence_id', 'source_sovereign_id', 'target_sovereign_id', 'verdict'],
    draft: (now) => draftTrustEvidence({ finding, graph_digest, issuer_sovereign_id, now, ...ownFacts(parts) }),
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
  const facts = { ...grounded, issuer_sovereign_id: parties.source, now, ...ownFacts(parts) }
  return parts.signing.signFormOr(code, trustEvidenceForm, draftTrustEvidence(facts))
}

function ownFacts({ ids, signing }: TrustEvidenceParts): { readonly evidence_id: string; readonly issued_by: string } {
  return { evidence_id: ids.uuid(), issued_by: signing.keyId }
}

/**
 * POST /trust-evidence/verify
 * Verifies trust evidence, and that it is based on the graph that the caller expects. Writes nothing.
 */
async function verify(call: Call, parts: TrustEvidenceParts): Promise<JsonObject> {
  const given = requirePresent(call.body, 'evidence', 'missing_evidence')
  const evidence = readOrRefuse('invalid_evidence', () => readReceived(trustEvidenceForm, given))
  const keys = readTrustKeys(call.body, 'issuer_public_keys', ownKeysAt(parts.keys, evidence.record.issued_at))
  const expected = readOrRefuse('invalid_evidence', () =>
    shape.nullable(shape.string)(call.body['expected_graph_digest'] ?? null, 'expected_graph_digest'),
  )
  const against = { keys, expectedGraphDigest: expected ?? undefined }
  const members = respondVerdict(call, parts, await verifyTrustEvidence(evidence, against), 'accepted')
  const { evidence_id, issuer_sovereign_id, verdict } = evidence.record
  return { ...members, evidence_id, issuer_sovereign_id, verdict }
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
