import { member } from '../canonical/json-value.ts'
import { instantOf } from '../reading/text.ts'
import { capabilityStep, freshnessStep } from './agreement-gates.ts'
import type { AttestationBasis } from './attestation-basis.ts'
import type { ContextFacts } from './facts.ts'
import { type GateStep, builtInStep, runInOrder } from './gate-step.ts'

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
