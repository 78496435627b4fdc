import type { JsonValue } from '../canonical/utf8.ts'
import { HOUR, type Instant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { arrayOf, closed, integer, oneOf, readRecord, required, string, withDefault } from '../reading/shape.ts'
import type { Read } from '../reading/schema.ts'
import { identifier, requireOrder, signatures, timestamp, uncheckedSignatures } from '../reading/text.ts'
import type { Signature } from '../signing/keys.ts'

export const REVOCATION_REASONS = ['key_compromise', 'cessation_of_operation', 'superseded', 'unspecified'] as const
export type RevocationReason = (typeof REVOCATION_REASONS)[number]

/** One revoked certificate. In a list of another authority the reason can be any text. */
export type RevokedEntry<Reason extends string = string> = {
  readonly certificate_id: string
  readonly revoked_at: string
  readonly reason: Reason
  readonly issuer: string
}

/** One version of the revocation list of any authority (protocol/core 9.1, protocol/gateway 2.6). */
export type RevocationList<Entry extends RevokedEntry = RevokedEntry> = {
  readonly crl_id: string
  readonly sequence: number
  readonly issued_at: string
  readonly next_update: string
  readonly issuer: string
  readonly revoked_certificates: readonly Entry[]
  readonly signatures: readonly Signature[]
}

export type CrlEntry = RevokedEntry<RevocationReason>

/** A revocation list that an authority of this implementation signs. */
export type Crl = RevocationList<CrlEntry>

/** Validity of a list, and the remaining time at which its issuer signs the next one (protocol/core 9.2). */
export const CRL_VALIDITY: Instant = 24n * HOUR
export const CRL_REFRESH_MARGIN: Instant = 12n * HOUR

/** Builds the reader of a list from the rules for its names, its reasons, its length and its signatures. */
function listShape<Reason extends string>(
  name: Read<string>,
  reason: Read<Reason>,
  maxEntries: number,
  signed: Read<readonly Signature[]>,
): Read<RevocationList<RevokedEntry<Reason>>> {
  const entry = closed({
    certificate_id: required(name),
    revoked_at: required(timestamp),
    reason: required(reason),
    issuer: required(name),
  })
  return closed({
    crl_id: required(name),
    sequence: required(integer(0, Number.MAX_SAFE_INTEGER)),
    issued_at: required(timestamp),
    next_update: required(timestamp),
    issuer: required(name),
    revoked_certificates: withDefault(arrayOf(entry, { max: maxEntries }), []),
    signatures: withDefault(signed, []),
  })
}

// The document size is the effective limit: 64 MiB contain about 470,000 entries.
export const crlShape: Read<Crl> = listShape(identifier, oneOf(...REVOCATION_REASONS), 1_000_000, signatures)

const anyListShape = listShape(string, string, Number.MAX_SAFE_INTEGER, uncheckedSignatures(64))

/** Reads a list with the four reasons and bounded ids (protocol/core 9.1). */
export function readCrl(value: JsonValue): Crl {
  return readList(crlShape, value)
}

/** Reads the list of any authority: reasons and ids can be any text (protocol/gateway 2.6). */
export function readRevocationList(value: JsonValue): RevocationList {
  return readList(anyListShape, value)
}

function readList<List extends RevocationList>(shape: Read<List>, value: JsonValue): List {
  const list = readRecord(shape, value)
  requireOrder(list, 'issued_at', '<', 'next_update')
  return list
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
