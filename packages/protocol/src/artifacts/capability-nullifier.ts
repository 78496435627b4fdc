import { type Instant, seconds, writeInstant } from '../canonical/time.ts'
import { identifier, matching, timestamp } from '../reading/text.ts'
import { type RecordForm, signedOnceForm, yes } from '../reading/trust-form.ts'
import type { Signature } from '../signing/sign.ts'

/** Lets a verifier accept a proof once: a verifier that stored its id refuses the second use (protocol/trust-operations 7.5). */
export type CapabilityNullifier = {
  readonly nullifier_id: string
  readonly proof_id: string
  readonly nonce: string
  readonly issued_at: string
  readonly expires_at: string
  /** Peers write a key id here: nothing may be concluded from it. */
  readonly prover_sovereign_id: string
  readonly signature: Signature | null
}

export const NULLIFIER_SECONDS = 60

export const nullifierForm: RecordForm<CapabilityNullifier> = signedOnceForm({
  nullifier_id: yes(identifier),
  proof_id: yes(identifier),
  nonce: yes(matching(/^[0-9a-f]{32}$/, '32 lowercase hexadecimal digits')),
  issued_at: yes(timestamp),
  expires_at: yes(timestamp),
  prover_sovereign_id: yes(identifier),
})

export function draftCapabilityNullifier(facts: {
  readonly nullifier_id: string
  readonly proof_id: string
  /** 16 random bytes in hexadecimal digits. */
  readonly nonce: string
  readonly prover_sovereign_id: string
  readonly now: Instant
}): CapabilityNullifier {
  const { now, ...named } = facts
  const expires_at = writeInstant(now + seconds(NULLIFIER_SECONDS))
  return { ...named, issued_at: writeInstant(now), expires_at, signature: null }
}
