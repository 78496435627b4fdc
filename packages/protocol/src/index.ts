export * from './canonical/utf8.ts'
export * from './canonical/read-json.ts'
export * from './canonical/canonical-json.ts'
export * from './canonical/plain-json.ts'
export * from './canonical/base64.ts'
export * from './canonical/digest.ts'
export * from './canonical/byte-blocks.ts'
export * from './canonical/time.ts'
export type { Ed25519Backend, KeySigner } from './signing/platform.ts'
export {
  readPrivateKeyFile,
  readPublicKey,
  readPublicKeyFile,
  readSeed,
  readTrustedPublicKey,
  seedSigner,
  signatureLibrary,
  verifySignature,
  writePrivateKeyFile,
  writePublicKeyFile,
} from './signing/keys.ts'
export type { KeyFile, Signature, Signer } from './signing/keys.ts'
export {
  CheckSlices,
  TooManyChecksError,
  asJson,
  signList,
  signOnce,
  signedBytes,
  verifyAny,
  verifyList,
} from './signing/verify-any.ts'
export type { SignedList, SignedOnce } from './signing/verify-any.ts'
export * from './signing/jws.ts'
export * from './signing/received.ts'
export { FormError, described, placeOf, schemaOf } from './reading/schema.ts'
export type { Read, ReadBy } from './reading/schema.ts'
export * from './reading/read-or-undefined.ts'
export type { DefaultMember, Member, OptionalMember, ValueOf } from './reading/shape.ts'
export * as shape from './reading/shape.ts'
export * as field from './reading/text.ts'
export type { FormMember, RecordOf } from './reading/trust-form.ts'
export * as form from './reading/trust-form.ts'
export type { RecordForm } from './reading/trust-form.ts'
export { instantOf, isKeyId, isNonce, isPlainText } from './reading/text.ts'
export * from './reading/roles.ts'
export * from './text/visible.ts'
export * from './artifacts/verdict.ts'
export * from './artifacts/genesis-block.ts'
export * from './artifacts/key-history.ts'
export * from './artifacts/followed-keys.ts'
export * from './artifacts/join-certificate.ts'
export * from './artifacts/crl.ts'
export * from './artifacts/policy-manifest.ts'
export * from './artifacts/admission-rule.ts'
export { GITHUB_ISSUER, KUBERNETES_CLAIMS, keysUrlOf, readSpiffeId } from './admission/check-rule.ts'
export type {
  AdmissionAlgorithm,
  AdmissionKind,
  AdmissionPlatform,
  AdmissionTerms,
  RequiredClaims,
  SpiffeId,
} from './admission/check-rule.ts'
export * from './admission/describe-rule.ts'
export * from './admission/join-audience.ts'
export * from './artifacts/agent-descriptor.ts'
export * from './artifacts/attestation.ts'
export * from './artifacts/recognition-treaty.ts'
export * from './artifacts/feed-index.ts'
export * from './artifacts/revocation-feed.ts'
export * from './artifacts/trust-evidence.ts'
export * from './artifacts/capability-offer.ts'
export * from './artifacts/context-record.ts'
export * from './artifacts/decision-bindings.ts'
export * from './artifacts/boundary-decision.ts'
export * from './artifacts/freshness-proof.ts'
export * from './artifacts/justification-proof.ts'
export * from './agreements/verify-agreement.ts'
export * from './agreements/cosign.ts'
export * from './artifacts/capability-commitment.ts'
export * from './artifacts/capability-nullifier.ts'
export * from './artifacts/consensus-proof.ts'
export * from './artifacts/data-access-intent.ts'
export * from './proofs/operator-headers.ts'
export * from './proofs/node-proof.ts'
export * from './proofs/request-proof.ts'
export * from './proofs/caller-proof.ts'
export * from './proofs/client-assertion.ts'
export * from './proofs/caller-assertion.ts'
export * from './proofs/agent-delete.ts'
export * from './proofs/gateway-caller.ts'
export * from './recognition/verify-treaty.ts'
export * from './recognition/treaty-capabilities.ts'
export * from './disclosure/merkle.ts'
export * from './disclosure/salted.ts'
export * from './disclosure/verify-disclosure.ts'
export * from './consensus/verify-consensus.ts'
export * from './data-usage/verify-usage.ts'
export * from './graph/lifecycle.ts'
export * from './graph/recognition-graph.ts'
export * from './graph/material-page.ts'
export * from './graph/trust-index.ts'
export * from './graph/trust-path.ts'
export * from './graph/trust-finding.ts'
export * from './artifacts/boundary-policy.ts'
export * from './boundary/engine-question.ts'
export * from './boundary/facts.ts'
export type { AskingGate, GateReading, GateType, ReadyGate } from './boundary/gates/gate.ts'
export { cedarEntities, cedarTexts } from './boundary/gates/cedar.ts'
export { factOrigin, readFactResponse, readRecordedFact, supposedFact } from './boundary/gates/external-fact.ts'
export * from './boundary/gates/registry.ts'
export * from './boundary/policy-intent.ts'
export * from './boundary/selector.ts'
export * from './boundary/validate-policy.ts'
export * from './boundary/policy-warnings.ts'
export * from './boundary/policy-set.ts'
export * from './boundary/attestation-basis.ts'
export * from './boundary/presented-basis.ts'
export type { AgreedTerms, DemandedFreshness, GateRun, GateStep } from './boundary/agreement-gates.ts'
export * from './boundary/decide.ts'
export * from './boundary/verify-decision.ts'
export * from './boundary/verify-foreign-decision.ts'
export {
  basisEnd,
  boundaryQuestions,
  concludeSteps,
  evaluateBoundary,
  evaluatePolicies,
  policyQuestions,
} from './boundary/evaluate.ts'
export type {
  AgreementBasis,
  BoundaryBasis,
  BoundaryQuestion,
  Evaluation,
  PolicyEvaluation,
} from './boundary/evaluate.ts'
export * from './self-test.ts'
export * from './boundary/simulate.ts'
export * from './boundary/replay.ts'
export * from './boundary/simulated-request.ts'
export * from './artifacts/execution-evidence.ts'
export * from './artifacts/evidence-store-entry.ts'
export * from './artifacts/retention-checkpoint.ts'
export * from './artifacts/log-identity.ts'
export * from './evidence/read-event.ts'
export { CHECKPOINT_SUBJECT, decisionSubject, executionSubject, lineShortcuts } from './evidence/shortcuts.ts'
export type { DecisionParts, LineShortcuts } from './evidence/shortcuts.ts'
export * from './evidence/secret-material.ts'
export * from './evidence/report.ts'
export type { StoreKeys } from './evidence/check-payload.ts'
export type { StoredDecision } from './evidence/chain-state.ts'
export * from './evidence/check-execution.ts'
export * from './evidence/check-anchors.ts'
export * from './evidence/check-store.ts'
export { verifyLine } from './evidence/verify-line.ts'
export type { VerifiedLine } from './evidence/verify-line.ts'
export * from './evidence-log/tree.ts'
export * from './evidence-log/tiles.ts'
export * from './evidence-log/tree-range.ts'
export * from './evidence-log/note.ts'
export * from './evidence-log/policy.ts'
export * from './evidence-log/add-checkpoint.ts'
export * from './evidence-log/receipt.ts'
export * from './evidence-archive/manifest.ts'
export * from './evidence-archive/archive-chain.ts'
export * from './evidence-archive/compare-store.ts'
export * from './offline/offline-verdict.ts'
export * from './offline/record-kind.ts'
export { signerKeys } from './offline/trust-inputs.ts'
export type { OfflineTrust } from './offline/trust-inputs.ts'
export * from './offline/verify-record.ts'
export { SCHEMA_NAMES, recordSchema, recordSection } from './schemas/record-schemas.ts'
export type { SchemaName } from './schemas/record-schemas.ts'
export * from './trust/findings.ts'
export * from './trust/presented-certificate.ts'
export * from './trust/revocation-list.ts'
export * from './trust/list-head.ts'
export * from './trust/list-change.ts'
export * from './trust/list-delta.ts'
export { scanRevocationList } from './trust/scan-revocation-list.ts'
export type { ScannedList } from './trust/scan-revocation-list.ts'
export * from './trust/scanned-list.ts'
export { CompactCrl } from './trust/compact-crl.ts'
export * from './trust/evaluate-certificate.ts'
export * from './trust/trust-decision.ts'
export * from './history/trust-history.ts'
export { RECORD_SUBJECTS, digestOfRecord, readSubject, subjectKindOf } from './history/subject.ts'
export type { RecordSubject, SubjectRecord, TrustSubject } from './history/subject.ts'
export type { HistoryPage, ProofRecord, SavedLists } from './history/pages.ts'
export { finding as historyFinding, outsideFinding } from './history/verify-own.ts'
export type { HistoryFinding, TrustNote, TrustReason, TrustState } from './history/verify-own.ts'
export { verifyPastTrust } from './history/verify-past.ts'
export type { PastVerdict } from './history/verify-past.ts'
export * from './history/page-text.ts'
export * from './envelopes/dsse.ts'
export * from './envelopes/decision-statement.ts'
export * from './proofs/response-signature.ts'
export * from './wimse/wit.ts'
export * from './wimse/wimse-proof.ts'
