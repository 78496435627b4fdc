import {
  BOUNDARY_POLICY_FORM,
  StoreChecker,
  accessIntentForm,
  agreementRecordForm,
  boundaryDecisionForm,
  digestOf,
  draftDataAccessIntent,
  executionEvidenceForm,
  instantOf,
  justificationForm,
  licensePolicyForm,
  readAttestation,
  readReceived,
  readRevocationFeed,
  verifyRevocationFeed as verifyFeedSignature,
  recordDigest,
  retentionCheckpointForm,
  sha256Hex,
  signForm,
  signedBytes,
  verifyList,
  verifyBoundaryDecision as verifyReceivedDecision,
  verifyReceived,
  verifyTwoParties,
} from '@chancery/protocol'
import type {
  DataAccessIntent,
  DecisionExpectations,
  DecisionVerdict,
  FormReason,
  Instant,
  JsonObject,
  JsonValue,
  RecordForm,
  Signer,
  StoreReport,
  TwoPartyReason,
  Verdict,
} from '@chancery/protocol'
import { timeOf } from '../trust/signing-time.ts'

/** A signed record as received; it is verified in this spelling. */
type Arrived = object
type SignatureVerdict = Verdict<FormReason>

/**
 * Checks that it is genuine, valid now and on the expected basis; a runner refuses a decision without pinned policies.
 */
export async function verifyBoundaryDecision(
  decision: Arrived,
  expectations: Omit<DecisionExpectations, 'now'> & { readonly now?: Instant },
): Promise<DecisionVerdict> {
  const received = readReceived(boundaryDecisionForm, decision as JsonObject)
  return verifyReceivedDecision(received, { ...expectations, now: timeOf(expectations.now) })
}

/** Checks form and signature only, not time and basis. */
function signatureCheck<Value>(
  form: RecordForm<Value>,
): (record: Arrived, keys: readonly string[]) => Promise<SignatureVerdict> {
  return async (record, keys) => verifyReceived(readReceived(form, record as JsonObject), keys)
}

export type VerifySignature = (record: Arrived, keys: readonly string[]) => Promise<SignatureVerdict>

export const verifyDecisionSignature: VerifySignature = signatureCheck(boundaryDecisionForm)
export const verifyPolicySignature: VerifySignature = signatureCheck(BOUNDARY_POLICY_FORM)
export const verifyJustificationSignature: VerifySignature = signatureCheck(justificationForm)
export const verifyExecutionSignature: VerifySignature = signatureCheck(executionEvidenceForm)
export const verifyRetentionCheckpoint: VerifySignature = signatureCheck(retentionCheckpointForm)
export const verifyDataLicensePolicySignature: VerifySignature = signatureCheck(licensePolicyForm)

export function verifyAttestationSignature(attestation: Arrived, keys: readonly string[]): Promise<boolean> {
  return verifyList(readAttestation(attestation as JsonValue), keys)
}

export function verifyRevocationFeedSignature(feed: Arrived, keys: readonly string[]): Promise<boolean> {
  return verifyFeedSignature(readRevocationFeed(feed as JsonValue), keys)
}

/** Checks that both parties signed it under different keys: a key that is given for both is refused. */
export async function verifyAgreement(
  agreement: Arrived,
  against: {
    readonly offererKeys: readonly string[]
    readonly responderKeys: readonly string[]
    readonly expectedGraphDigest?: string
  },
): Promise<Verdict<TwoPartyReason>> {
  return verifyTwoParties(readReceived(agreementRecordForm, agreement as JsonObject), against)
}

/** Checks that the agent signed exactly this, and that it has not expired. */
export async function verifyDataAccessIntent(
  intent: Arrived,
  keys: readonly string[],
  now?: Instant,
): Promise<Verdict<FormReason | 'intent_expired'>> {
  const moment = timeOf(now)
  const received = readReceived(accessIntentForm, intent as JsonObject)
  const verdict = await verifyReceived(received, keys)
  if (!verdict.ok) return verdict
  const isOver = moment > instantOf(received.record.expires_at)
  return isOver ? { ok: false, reason: 'intent_expired' } : { ok: true }
}

/** Drafts and signs an intent with the agent's own key, without a request to an authority. */
export function createDataAccessIntent(
  facts: Omit<DataAccessIntent, 'declared_at' | 'expires_at' | 'signature'> & { readonly now: Instant },
  signer: Signer,
): Promise<DataAccessIntent> {
  return signForm(accessIntentForm, draftDataAccessIntent(facts), signer)
}

/** The lines of an export, without the end of the text. */
export function parseExportLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** The keys that verify an export: those of the authority, and those of executors by their id. */
export interface EvidenceKeys {
  readonly authority: readonly string[]
  readonly executors: Readonly<Record<string, { readonly public_key: string; readonly executor_sovereign_id: string }>>
}

/** Recomputes every digest, link and signature of exported lines. */
export async function verifyEvidenceEvents(lines: Iterable<string>, keys: EvidenceKeys): Promise<StoreReport> {
  const executors = new Map(Object.entries(keys.executors))
  const checker = new StoreChecker({
    keys: { authority: keys.authority, executor: (id) => executors.get(id) },
    scope: 'store',
  })
  for (const line of lines) await checker.add(line)
  return checker.finish()
}

export function attestationDigest(attestation: Arrived): string {
  return sha256Hex(signedBytes(attestation as JsonObject, 'signatures'))
}

export function policyDigest(policy: Arrived): string {
  return sha256Hex(signedBytes(policy as JsonObject, 'signature'))
}

/** Returns the reference to this record for the next record of a chain. */
export function executionDigest(record: Arrived): string {
  return recordDigest(readReceived(executionEvidenceForm, record as JsonObject))
}

export function entryDigest(entry: Arrived): string {
  return digestOf(entry as JsonObject)
}

export function payloadDigest(payload: Arrived): string {
  return digestOf(payload as JsonObject)
}
