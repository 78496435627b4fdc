import type { FreshnessProof, FreshnessReason } from '../artifacts/freshness-proof.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import { instantOf } from '../reading/text.ts'
import type { ContextFacts } from './facts.ts'
import { type GateStep, builtInStep, runInOrder } from './gate-step.ts'

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
