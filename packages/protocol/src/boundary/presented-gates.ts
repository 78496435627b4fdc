import { member } from '../canonical/utf8.ts'
import { CLOCK_TOLERANCE, type Instant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { instantOf } from '../reading/text.ts'
import type { ContextFacts } from './facts.ts'
import { type GateStep, builtInStep, runInOrder } from './agreement-gates.ts'
import type { IssuerContact, PresentedBasis, PresentedFailure } from './presented-basis.ts'
import { namesCapability } from './selector.ts'

/**
 * The built-in gates of the presented basis (protocol/trust-operations 4.11), up to the first that denies.
 * 1. The assessment found nothing against the member.
 * 2. The attestation is in force. A start up to 300 s ahead is accepted, because its issuer has another clock.
 * 3. The attestation claims the capability, and the own treaty names it.
 * 4. The revocation feed of the issuer is recent, and so is the last contact with the issuer.
 */
export function runPresentedGates(context: ContextFacts, basis: PresentedBasis): readonly GateStep[] {
  return runInOrder([
    () => statusGate(context, basis),
    () => validityGate(context, basis),
    () => capabilityGate(context, basis),
    () => feedGate(context, basis),
  ])
}

/** Whether a partner's member counts now: gates 2 and 4, for what it does besides asking for a capability. */
export function isPresentedInForce(basis: PresentedBasis, now: Instant): boolean {
  const at = { requested_at: writeInstant(now), context_freshness_seq: 0 }
  const isOver = basis.treaty !== undefined && now >= instantOf(basis.treaty.expires_at)
  return basis.failure === undefined && !isOver && validityGate(at, basis).passed && feedGate(at, basis).passed
}

const REASONS = {
  attestation_invalid: 'no key of the treaty signed this record',
  treaty_not_found: 'no treaty with its issuer is stored',
  treaty_revoked: 'the treaty was revoked',
  treaty_expired: 'the treaty has expired',
  treaty_not_yet_valid: 'the treaty is not valid yet',
  attestation_revoked: 'it was withdrawn',
  attestation_role_not_allowed: 'the treaty does not allow its roles',
  attestation_subject_mismatch: 'the requester is not its issuer',
  attestation_not_yet_valid: 'its validity has not begun',
  attestation_expired: 'its validity has ended',
} as const

/** The detail begins with the code, so that a reader can separate it from the text. */
function denied(code: keyof typeof REASONS): { denial: string; reason: string } {
  return { denial: code, reason: `${code}: ${REASONS[code]}` }
}

function statusGate({ requested_at }: ContextFacts, basis: PresentedBasis): GateStep {
  const { attestation, revocation_seq_checked, treaty } = basis
  const { attestation_id, issuer_sovereign_id } = attestation
  // The treaty may have ended between assessment and decision.
  const isOver = treaty !== undefined && instantOf(requested_at) >= instantOf(treaty.expires_at)
  const failure: PresentedFailure | undefined = basis.failure ?? (isOver ? 'treaty_expired' : undefined)
  return builtInStep(
    {
      gate_name: 'attestation_status',
      gate_type: 'AttestationStatusGate',
      inputs: {
        attestation_id,
        found: true,
        revocation_seq_checked,
        issuer_sovereign_id,
        treaty_id: treaty?.treaty_id ?? null,
        treaty_digest: treaty?.treaty_digest ?? null,
      },
    },
    failure === undefined ? undefined : denied(failure),
  )
}

function validityGate({ requested_at }: Pick<ContextFacts, 'requested_at'>, { attestation }: PresentedBasis): GateStep {
  const { valid_from, expires_at } = attestation
  const at = instantOf(requested_at)
  const code =
    at < instantOf(valid_from) - CLOCK_TOLERANCE
      ? 'attestation_not_yet_valid'
      : at > instantOf(expires_at)
        ? 'attestation_expired'
        : undefined
  return builtInStep(
    {
      gate_name: 'attestation_validity',
      gate_type: 'AttestationValidityGate',
      inputs: { requested_at, valid_from, expires_at },
    },
    code === undefined ? undefined : denied(code),
  )
}

function capabilityGate({ requested_capability }: ContextFacts, { attestation, treaty }: PresentedBasis): GateStep {
  const claimed: unknown = member(attestation.claims, 'capabilities')
  const capabilities =
    Array.isArray(claimed) && claimed.every((item): item is string => typeof item === 'string') ? claimed : null
  const treaty_capabilities = treaty?.capabilities ?? null
  const isGranted =
    capabilities?.includes(requested_capability) === true &&
    treaty_capabilities !== null &&
    namesCapability(treaty_capabilities, requested_capability)
  return builtInStep(
    {
      gate_name: 'capability_check',
      gate_type: 'CapabilityGate',
      inputs: { requested_capability, capabilities, treaty_capabilities },
    },
    isGranted ? undefined : { denial: 'capability out of scope', reason: 'the capability is not granted' },
  )
}

function feedGate(
  { requested_at, context_freshness_seq }: Pick<ContextFacts, 'context_freshness_seq' | 'requested_at'>,
  { feed, maxFeedAgeSeconds, contact }: PresentedBasis,
): GateStep {
  const issued = feed?.issued_at ?? null
  const age = issued === null ? undefined : instantOf(requested_at) - instantOf(issued)
  const isFresh =
    maxFeedAgeSeconds === 0 || (age !== undefined && age <= seconds(maxFeedAgeSeconds) && age >= -CLOCK_TOLERANCE)
  return builtInStep(
    {
      gate_name: 'freshness_check',
      gate_type: 'FreshnessGate',
      inputs: {
        context_freshness_seq,
        freshness_commitment: 0,
        feed_sequence: feed?.sequence ?? 0,
        feed_issued_at: issued,
        max_age_seconds: maxFeedAgeSeconds,
        ...(contact === undefined
          ? {}
          : { last_contact_at: contact.at, max_contact_age_seconds: contact.maxAgeSeconds }),
      },
    },
    whyNotFresh(isFresh, contact, requested_at),
  )
}

/** A feed says what was revoked when it was signed, a contact that nothing newer was there. */
function whyNotFresh(
  isFresh: boolean,
  contact: IssuerContact | undefined,
  requested_at: string,
): { denial: string; reason: string } | undefined {
  const denial = 'insufficient freshness'
  if (!isFresh) return { denial, reason: 'no recent feed of the issuer is imported' }
  if (contact === undefined) return undefined
  const silence = contact.at === null ? undefined : instantOf(requested_at) - instantOf(contact.at)
  const isRecent = silence !== undefined && silence <= seconds(contact.maxAgeSeconds)
  return isRecent ? undefined : { denial, reason: 'the last contact with the issuer is too long ago' }
}
