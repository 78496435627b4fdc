import { type Instant, seconds, writeInstant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/read.ts'
import { identifier, matching, timestamp } from '../reading/text.ts'
import { signedOnceForm, yes } from '../reading/trust-form.ts'

export const NULLIFIER_SECONDS = 60

export const nullifierForm = signedOnceForm({
  nullifier_id: yes(identifier),
  proof_id: yes(identifier),
  nonce: yes(matching(/^[0-9a-f]{32}$/, '32 lowercase hexadecimal digits')),
  issued_at: yes(timestamp),
  expires_at: yes(timestamp),
  /** Peers write a key id here: nothing may be concluded from it. */
  prover_sovereign_id: yes(identifier),
})

/** Lets a verifier accept a proof once: a verifier that stored its id refuses the second use (protocol/trust-operations 7.5). */
export type CapabilityNullifier = ReadBy<typeof nullifierForm>

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
