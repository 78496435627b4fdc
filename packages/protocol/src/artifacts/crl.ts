import type { JsonValue } from '../canonical/json-value.ts'
import { HOUR, writeInstant } from '../canonical/time.ts'
import type { Instant } from '../canonical/time.ts'
import { arrayOf, closed, integer, oneOf, readRecord, required, withDefault } from '../reading/shape.ts'
import type { Read } from '../reading/shape.ts'
import { identifier, requireOrder, signatures, timestamp } from '../reading/text.ts'
import type { Signature } from '../signing/forms.ts'

export const REVOCATION_REASONS = ['key_compromise', 'cessation_of_operation', 'superseded', 'unspecified'] as const
export type RevocationReason = (typeof REVOCATION_REASONS)[number]

export type CrlEntry = {
  readonly certificate_id: string
  readonly revoked_at: string
  readonly reason: RevocationReason
  readonly issuer: string
}

/** One version of the certificate revocation list (protocol/core 9.1). */
export type Crl = {
  readonly crl_id: string
  readonly sequence: number
  readonly issued_at: string
  readonly next_update: string
  readonly issuer: string
  readonly revoked_certificates: readonly CrlEntry[]
  readonly signatures: readonly Signature[]
}

/** How long a list may be relied upon, and when its issuer signs the next one (protocol/core 9.2). */
export const CRL_VALIDITY: Instant = 24n * HOUR
export const CRL_REFRESH_MARGIN: Instant = 12n * HOUR

const entry = closed({
  certificate_id: required(identifier),
  revoked_at: required(timestamp),
  reason: required(oneOf(...REVOCATION_REASONS)),
  issuer: required(identifier),
})

export const crlShape: Read<Crl> = closed({
  crl_id: required(identifier),
  sequence: required(integer(0, Number.MAX_SAFE_INTEGER)),
  issued_at: required(timestamp),
  next_update: required(timestamp),
  issuer: required(identifier),
  // Bounded by the size of the document itself: 64 MiB hold about 470,000 entries.
  revoked_certificates: withDefault(arrayOf(entry, { max: 1_000_000 }), []),
  signatures: withDefault(signatures, []),
})

export function readCrl(value: JsonValue): Crl {
  const crl = readRecord(crlShape, value)
  requireOrder(crl, 'issued_at', '<', 'next_update')
  return crl
}

export function draftCrl(facts: {
  readonly crl_id: string
  readonly sequence: number
  readonly issuer: string
  readonly now: Instant
  readonly entries: readonly CrlEntry[]
}): Crl {
  return {
    crl_id: facts.crl_id,
    sequence: facts.sequence,
    issued_at: writeInstant(facts.now),
    next_update: writeInstant(facts.now + CRL_VALIDITY),
    issuer: facts.issuer,
    revoked_certificates: facts.entries,
    signatures: [],
  }
}
