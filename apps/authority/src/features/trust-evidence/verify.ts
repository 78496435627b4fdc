import { type JsonObject, readReceived, shape, trustEvidenceForm, verifyTrustEvidence } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOrRefuse, readTrustKeys, recordVerification, requirePresent } from '../../requests/read-fields.ts'
import type { FeatureBase } from '../../core.ts'
import type { Connectome } from '../connectome/index.ts'

export interface TrustEvidenceParts extends FeatureBase {
  readonly connectome: Connectome
}

/**
 * POST /trust-evidence/verify
 * Verifies trust evidence, and that it is based on the graph that the caller expects. Writes nothing.
 */
export async function verify(call: Call, parts: TrustEvidenceParts): Promise<JsonObject> {
  const given = requirePresent(call.body, 'evidence', 'missing_evidence')
  const evidence = readOrRefuse('invalid_evidence', () => readReceived(trustEvidenceForm, given))
  const keys = readTrustKeys(call.body, 'issuer_public_keys', ownKeysAt(parts.keys, evidence.record.issued_at))
  const expected = readOrRefuse('invalid_evidence', () =>
    shape.nullable(shape.string)(call.body['expected_graph_digest'] ?? null, 'expected_graph_digest'),
  )
  const verdict = await verifyTrustEvidence(evidence, { keys, expectedGraphDigest: expected ?? undefined })
  const reason = verdict.ok ? 'accepted' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  const { evidence_id, issuer_sovereign_id, verdict: said } = evidence.record
  return { accepted: verdict.ok, reason, evidence_id, issuer_sovereign_id, verdict: said }
}
