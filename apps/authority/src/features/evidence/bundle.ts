import { Refusal, evidence } from '@chancery/contract'
import {
  STATEMENT_PAYLOAD_TYPE,
  boundaryDecisionForm,
  isJsonObject,
  readEventLine,
  readReceived,
  receivedDigest,
  toUtf8,
  verifyReceived,
  writeDecisionStatement,
} from '@chancery/protocol'
import type { BoundaryDecision, JsonObject, Received, StatedEntry } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readForm, readOrRefuse } from '../../requests/read-fields.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { findDecisionLine } from './queries/entries.ts'

/**
 * POST /admin/evidence/bundles
 * Signs a stored decision in an envelope for verifiers of others. The statement comes from the store, never from the
 * caller, and only from a record that our own signature covers: a changed row must not get a new signature. Nothing is
 * stored but the audit event.
 */
export async function bundle(call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const { decision_id } = readForm(evidence.bundle.body, call.body)
  const { decision, entry } = await loadDecision(parts, decision_id)
  const payload = toUtf8(writeDecisionStatement(decision, entry))
  const { signatures, ...signed } = await parts.signing.signEnvelope(STATEMENT_PAYLOAD_TYPE, payload)
  const { store_sequence } = entry
  const details = { decision_id, record_digest: receivedDigest(decision), store_sequence, ...requestDetails(call) }
  await parts.audit.recordAlone([{ type: 'evidence_bundle_signed', details }])
  return { envelope: { ...signed, signatures: signatures.map((each) => ({ ...each })) } }
}

interface StoredDecision {
  readonly decision: Received<BoundaryDecision>
  readonly entry: StatedEntry
}

async function loadDecision(parts: EvidenceParts, decision_id: string): Promise<StoredDecision> {
  const db = parts.database.read
  const { removed_through } = await readEvidenceHead(db)
  const line = await findDecisionLine(db, decision_id, removed_through)
  if (line === undefined) throw new Refusal('evidence_decision_not_found')
  const event = readEventLine(line)
  if (event === undefined) throw new Refusal('evidence_invalid_signature')
  const stored = (isJsonObject(event.payload) ? event.payload['decision'] : undefined) ?? event.payload
  const decision = readOrRefuse('evidence_invalid_signature', () => readReceived(boundaryDecisionForm, stored))
  const { entry, entryDigest, claimedDigest, payloadDigest } = event
  const isSame =
    entryDigest === claimedDigest &&
    payloadDigest === entry.payload_digest &&
    decision.record.decision_id === decision_id &&
    decision.record.operator_sovereign_id === parts.network.name
  const verdict = await verifyReceived(decision, ownKeysAt(parts.keys, decision.record.decision_made_at))
  if (!isSame || !verdict.ok) {
    parts.log.error('a stored decision does not verify, so it is not signed again', { decision_id })
    throw new Refusal('evidence_invalid_signature')
  }
  return { decision, entry: { store_sequence: entry.store_sequence, payload_digest: payloadDigest } }
}
