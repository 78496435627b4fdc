import type { FreshnessProof, FreshnessReason } from '../artifacts/freshness-proof.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import { instantOf } from '../reading/text.ts'
import type { ContextFacts } from './facts.ts'
import { type JsonObject, member } from '../canonical/utf8.ts'
import type { AttestationBasis } from './attestation-basis.ts'

/** One gate that ran, with what its result and its trace entry say. */
export type GateStep = {
  readonly gate_name: string
  readonly gate_type: string
  readonly passed: boolean
  /** Without the mark of observe mode. */
  readonly reason: string
  readonly inputs: JsonObject
  readonly metadata: JsonObject
  /** Set when this step denies the request: the reason if it is the first to do so. */
  readonly denial: string | undefined
  readonly isObserved: boolean
}

/** A built-in gate: always enforced, reports only its inputs. */
export function builtInStep(
  gate: { readonly gate_name: string; readonly gate_type: string; readonly inputs: JsonObject },
  verdict: { readonly denial: string; readonly reason: string } | undefined,
): GateStep {
  const passed = verdict === undefined
  return { ...gate, passed, reason: verdict?.reason ?? 'ok', metadata: {}, denial: verdict?.denial, isObserved: false }
}

/** Runs built-in gates until one denies: nothing after it could change the answer (protocol/trust-operations 4.2). */
export function runInOrder(gates: readonly (() => GateStep)[]): readonly GateStep[] {
  const steps: GateStep[] = []
  for (const gate of gates) {
    const step = gate()
    steps.push(step)
    if (!step.passed) break
  }
  return steps
}

/** What the gates came to. */
export interface GateRun {
  readonly authorized: boolean
  /** Null exactly when authorized. */
  readonly denial_reason: string | null
  /** The first gate that denied. */
  readonly short_circuited_at: string | null
  readonly steps: readonly GateStep[]
}

/** The first denial counts; without one the request is granted. */
export function concludeRun(steps: readonly GateStep[]): GateRun {
  const first = steps.find((step) => step.denial !== undefined)
  return {
    authorized: first === undefined,
    denial_reason: first?.denial ?? null,
    short_circuited_at: first?.gate_name ?? null,
    steps,
  }
}

/** What two parties agreed on, as far as a decision asks for it. */
export interface AgreedTerms {
  readonly capabilities: readonly string[]
  readonly valid_from: string
  readonly valid_until: string
  readonly freshness_commitment: number
}

/**
 * The built-in gates of the agreement basis (protocol/trust-operations 4.2), up to the first that denies.
 * 1. The capability was agreed, letter by letter: a prefix is another capability.
 * 2. The agreement is in force now, by our own clock.
 * 3. The caller claims to have the revocation feed up to the agreed sequence. This claim alone proves nothing.
 * 4. Only where the engine requires it: a proof of another party. The routes never require it.
 */
export function runAgreementGates(
  context: ContextFacts,
  terms: AgreedTerms,
  demanded?: DemandedFreshness,
): readonly GateStep[] {
  const gates = [
    () => capabilityGate(context, terms),
    () => windowGate(context, terms),
    () => freshnessGate(context, terms),
  ]
  return runInOrder(demanded === undefined ? gates : [...gates, () => freshnessProofGate(terms, demanded)])
}

/** The proof that was given, if any, and what verifying it with the commitment as required sequence gave. */
export interface DemandedFreshness {
  readonly proof: FreshnessProof | undefined
  readonly verdict: Verdict<FreshnessReason>
}

function capabilityGate({ requested_capability }: ContextFacts, { capabilities }: AgreedTerms): GateStep {
  return capabilityStep(requested_capability, capabilities)
}

/** Shared with the attestation basis; `null` stands for a list that cannot be used. */
export function capabilityStep(requested_capability: string, capabilities: readonly string[] | null): GateStep {
  const isGranted = capabilities?.includes(requested_capability) === true
  return builtInStep(
    { gate_name: 'capability_check', gate_type: 'CapabilityGate', inputs: { requested_capability, capabilities } },
    isGranted ? undefined : { denial: 'capability out of scope', reason: 'the capability is not granted' },
  )
}

export function windowGate(
  { requested_at }: ContextFacts,
  { valid_from, valid_until }: Pick<AgreedTerms, 'valid_from' | 'valid_until'>,
): GateStep {
  const at = instantOf(requested_at)
  const isInside = instantOf(valid_from) <= at && at <= instantOf(valid_until)
  return builtInStep(
    {
      gate_name: 'validity_window',
      gate_type: 'ValidityWindowGate',
      inputs: { requested_at, valid_from, valid_until },
    },
    isInside ? undefined : { denial: 'outside validity window', reason: 'the agreement is not in force' },
  )
}

function freshnessGate({ context_freshness_seq }: ContextFacts, { freshness_commitment }: AgreedTerms): GateStep {
  return freshnessStep(context_freshness_seq, freshness_commitment)
}

/** Shared with the attestation basis, which commits to nothing. */
export function freshnessStep(context_freshness_seq: number, freshness_commitment: number): GateStep {
  return builtInStep(
    {
      gate_name: 'freshness_check',
      gate_type: 'FreshnessGate',
      inputs: { context_freshness_seq, freshness_commitment },
    },
    context_freshness_seq >= freshness_commitment
      ? undefined
      : { denial: 'insufficient freshness', reason: 'the sequence is below the commitment' },
  )
}

function freshnessProofGate({ freshness_commitment }: AgreedTerms, { proof, verdict }: DemandedFreshness): GateStep {
  const seen =
    proof === undefined
      ? {}
      : { proof_id: proof.proof_id, feed_sequence: proof.feed_sequence, proof_valid_until: proof.proof_valid_until }
  const fault = proof === undefined ? 'no proof was given' : verdict.ok ? undefined : verdict.reason
  return builtInStep(
    {
      gate_name: 'freshness_proof',
      gate_type: 'FreshnessProofGate',
      inputs: { proof_present: proof !== undefined, freshness_commitment, ...seen },
    },
    fault === undefined ? undefined : { denial: 'insufficient freshness', reason: fault },
  )
}

/**
 * The built-in gates of the attestation basis (protocol/trust-operations 4.3), up to the first that denies.
 * 1. The assessment found nothing against the attestation.
 * 2. It is in force now, without clock tolerance: the clock is our own.
 * 3. Its claims grant the capability; a claim that is no list of texts grants nothing.
 * 4. Freshness, which an attestation does not require.
 */
export function runAttestationGates(context: ContextFacts, basis: AttestationBasis): readonly GateStep[] {
  return runInOrder([
    () => statusGate(basis),
    () => validityGate(context, basis),
    () => capabilityStep(context.requested_capability, grantedCapabilities(basis)),
    () => freshnessStep(context.context_freshness_seq, 0),
  ])
}

const REASONS = {
  attestation_not_found: 'no attestation with this id is stored',
  attestation_invalid: 'the stored record is not one this authority signed',
  attestation_revoked: 'it was withdrawn',
  attestation_subject_mismatch: 'the requester is not its subject',
  attestation_not_yet_valid: 'its validity has not begun',
  attestation_expired: 'its validity has ended',
} as const

/** The detail begins with the code, so that a reader can separate it from the text. */
function denied(code: keyof typeof REASONS): { denial: string; reason: string } {
  return { denial: code, reason: `${code}: ${REASONS[code]}` }
}

function statusGate({ attestation_id, found, revocation_seq_checked, failure }: AttestationBasis): GateStep {
  return builtInStep(
    {
      gate_name: 'attestation_status',
      gate_type: 'AttestationStatusGate',
      inputs: { attestation_id, found, revocation_seq_checked },
    },
    failure === undefined ? undefined : denied(failure),
  )
}

function validityGate({ requested_at }: ContextFacts, { attestation }: AttestationBasis): GateStep {
  const window =
    attestation === undefined ? {} : { valid_from: attestation.valid_from, expires_at: attestation.expires_at }
  const at = instantOf(requested_at)
  const code =
    attestation === undefined || at < instantOf(attestation.valid_from)
      ? 'attestation_not_yet_valid'
      : at > instantOf(attestation.expires_at)
        ? 'attestation_expired'
        : undefined
  return builtInStep(
    {
      gate_name: 'attestation_validity',
      gate_type: 'AttestationValidityGate',
      inputs: { requested_at, ...window },
    },
    code === undefined ? undefined : denied(code),
  )
}

/** Null when the claim is absent or no list of texts. */
function grantedCapabilities({ attestation }: AttestationBasis): readonly string[] | null {
  const claimed: unknown = attestation === undefined ? undefined : member(attestation.claims, 'capabilities')
  const isList = Array.isArray(claimed) && claimed.every((item) => typeof item === 'string')
  return isList ? claimed : null
}
