import type { JsonValue } from '../canonical/utf8.ts'
import { FormError, type ReadBy } from '../reading/schema.ts'
import {
  arrayOf,
  boolean,
  closed,
  integer,
  nullable,
  oneOf,
  readRecord,
  required,
  withDefault,
} from '../reading/shape.ts'
import { digest, identifier, plainText, requireOrder, signatures, timestamp } from '../reading/text.ts'

/**
 * `imported_attestation`: the attestation of a partner. The authority stores no such record, only its revocation. With
 * the name of the authority as issuer: an id that a recognition policy revokes for every partner.
 */
export const SUBJECT_KINDS = ['certificate', 'attestation', 'treaty', 'imported_attestation'] as const
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

/** Why an id of a partner's attestation does not count: a recognition policy, or an attestation of the authority. */
export const POLICY_REASON = 'recognition_policy'
export const OWN_ID_REASON = 'own_attestation_id'

/** Most standings of one statement, and most treaties with one partner that it states. */
export const MAX_STANDINGS = 512
export const MAX_GAPS = 64

const kind = required(oneOf(...SUBJECT_KINDS))
const time = required(nullable(timestamp))

const historyPlace = /* @__PURE__ */ closed({ issuer_sovereign_id: required(identifier), id: required(identifier) })

/** A record by its issuer and its id. */
export type HistoryPlace = ReadBy<typeof historyPlace>

const source = /* @__PURE__ */ closed({
  kind: required(oneOf('list', 'feed', 'imported_feed', 'authority')),
  sequence: required(nullable(integer(0, Number.MAX_SAFE_INTEGER))),
})

/** Who said first that a record is revoked. Without a number: removed, or the authority itself. */
export type RevocationSource = ReadBy<typeof source>

const standing = /* @__PURE__ */ closed({
  kind,
  id: required(identifier),
  /** Who issued the record. */
  issuer_sovereign_id: required(identifier),
  /** False: no row. It was removed, lost in a restore, or never existed. */
  known: required(boolean),
  /** Digest of the stored record. Null where no record is stored. */
  record_digest: required(nullable(digest)),
  is_revoked: required(boolean),
  /** Null with `is_revoked`: revoked at an unknown time. */
  revoked_at: time,
  reason: required(nullable(plainText(256, 0))),
  source: required(nullable(source)),
  /** From here on the authority refuses a renewed certificate. */
  superseded_at: time,
})

/** What the authority stores about one record (protocol/trust-history 1.2). */
export type Standing = ReadBy<typeof standing>

/** No row: removed, lost in a restore, or never there. */
export const NOT_STORED: Omit<Standing, 'kind' | 'id' | 'issuer_sovereign_id'> = {
  known: false,
  record_digest: null,
  is_revoked: false,
  revoked_at: null,
  reason: null,
  source: null,
  superseded_at: null,
}

const gap = /* @__PURE__ */ closed({ from: time, until: required(timestamp) })

/** A time of which records may be lost: from the last change in a restored backup to the recovery. */
export type HistoryGap = ReadBy<typeof gap>

const place = required(nullable(historyPlace))
const coverage = /* @__PURE__ */ closed({ kind, after: place, through: place })

/**
 * All stored records of a kind after one place and up to another, in an order of the authority; null is the beginning, or
 * the end. Statements that follow each other from the beginning to the end state all records of the kind.
 */
export type Coverage = ReadBy<typeof coverage>

const trustHistoryShape = /* @__PURE__ */ closed({
  history_id: required(identifier),
  network_name: required(identifier),
  issued_at: required(timestamp),
  /** Every change up to here is stated. Later ones may still be written. */
  known_until: required(timestamp),
  gaps: required(arrayOf(gap, { max: MAX_GAPS })),
  covers: required(nullable(coverage)),
  /** All treaties of the authority with this partner are stated. */
  treaties_with: required(nullable(identifier)),
  standings: required(arrayOf(standing, { max: MAX_STANDINGS })),
  issued_by: required(identifier),
  signatures: withDefault(signatures, []),
})

/** The signed statement of an authority about stored records: facts with their times, and no verdict. */
export type TrustHistory = ReadBy<typeof trustHistoryShape>

/** A statement must not state anything twice, or anything after its own time. */
export function readTrustHistory(value: JsonValue): TrustHistory {
  const history = readRecord(trustHistoryShape, value)
  requireOrder(history, 'known_until', '<=', 'issued_at')
  const seen = new Set(history.standings.map((each) => JSON.stringify([each.kind, each.issuer_sovereign_id, each.id])))
  if (seen.size !== history.standings.length) throw new FormError('standings', 'states a record twice')
  for (const { is_revoked, revoked_at } of history.standings)
    if (revoked_at !== null && !is_revoked) throw new FormError('standings', 'has a time without a revocation')
  return history
}

export function isSamePlace(a: HistoryPlace, b: HistoryPlace): boolean {
  return a.issuer_sovereign_id === b.issuer_sovereign_id && a.id === b.id
}
