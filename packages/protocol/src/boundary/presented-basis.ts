import { type Attestation, readAttestation } from '../artifacts/attestation.ts'
import type { RecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { canonicalBytes, canonicalJson } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { CLOCK_TOLERANCE, type Instant } from '../canonical/time.ts'
import { FormError } from '../reading/schema.ts'
import { instantOf } from '../reading/text.ts'
import type { TreatyBudget } from '../budgets/limits.ts'
import { treatyBudgets } from '../budgets/treaty-budgets.ts'
import { grantedCapabilities } from '../recognition/treaty-capabilities.ts'
import { verifyList } from '../signing/verify-any.ts'

export type PresentedFailure =
  | 'attestation_invalid'
  | 'treaty_not_found'
  | 'treaty_revoked'
  | 'treaty_expired'
  | 'treaty_not_yet_valid'
  | 'attestation_revoked'
  | 'attestation_role_not_allowed'
  | 'attestation_subject_mismatch'

/** An own treaty with a verified text, and whether its row is still active. */
export interface StoredTreaty {
  readonly treaty: RecognitionTreaty
  readonly isActive: boolean
}

/** The newest complete feed of an issuer. */
export interface ImportedFeed {
  readonly sequence: number
  readonly issued_at: string | null
}

/** The last successful contact with an issuer, and how long ago it may be. */
export interface IssuerContact {
  /** Null: there was none. */
  readonly at: string | null
  readonly maxAgeSeconds: number
}

/** Everything the assessment of a partner's member depends on. */
export interface PresentedFacts {
  readonly attestation: Attestation
  /** An own attestation has the same id. */
  readonly isOwnId: boolean
  /** Own treaties with the issuer, newest first, equal times by the smallest id. */
  readonly treaties: readonly StoredTreaty[]
  /** Listed in an imported feed of the issuer, or in the active recognition policy. */
  readonly isRevoked: boolean
  /** The requester that the context names. */
  readonly requester: string | undefined
  /** Highest sequence of imported feeds of the issuer, 0 when none. */
  readonly revocationSequence: number
  readonly feed: ImportedFeed | undefined
  /** Maximum age of the feed; 0: no feed is needed. */
  readonly maxFeedAgeSeconds: number
  /** Undefined: any time since the last contact is accepted. */
  readonly contact?: IssuerContact | undefined
  readonly now: Instant
}

/** The treaty under which a member is accepted. */
export interface UsedTreaty {
  readonly treaty_id: string
  readonly treaty_digest: string
  readonly expires_at: string
  /** Those of its list and of its budgets. */
  readonly capabilities: readonly string[] | null
  readonly budgets: readonly TreatyBudget[]
}

/** An assessed attestation of a partner, and the first reason not to rely on it. */
export interface PresentedBasis {
  readonly kind: 'presented'
  readonly attestation: Attestation
  readonly attestation_digest: string
  readonly failure: PresentedFailure | undefined
  /** True when a key of a treaty in force signed it. Before that, its issuer is only claimed. */
  readonly isSigned: boolean
  readonly treaty: UsedTreaty | undefined
  readonly revocation_seq_checked: number
  readonly feed: ImportedFeed | undefined
  readonly maxFeedAgeSeconds: number
  readonly contact: IssuerContact | undefined
}

const MAX_RECORD_BYTES = 65_536
const MAX_TREATIES = 64

/** Reads a presented attestation. It must be complete: a default would not be what its issuer signed. */
export function readPresentedAttestation(value: JsonValue): Attestation {
  const attestation = readAttestation(value)
  if (canonicalJson(attestation) !== canonicalJson(value)) throw new FormError('attestation', 'a member is missing')
  if (canonicalBytes(value).length > MAX_RECORD_BYTES) throw new FormError('attestation', 'the record is too large')
  return attestation
}

/**
 * Assesses a partner's member (protocol/trust-operations 4.11). Only own treaties count, and each alone: no key, treaty
 * or feed of another sovereign is read. The first failure decides.
 */
export async function assessPresented(facts: PresentedFacts): Promise<PresentedBasis> {
  const { attestation } = facts
  const { signatures: _signatures, ...body } = attestation
  const { failure, isSigned, treaty } = await findTreaty(facts)
  return {
    kind: 'presented',
    attestation,
    attestation_digest: digestOf(body),
    failure: failure ?? findLaterFailure(facts),
    isSigned,
    treaty,
    revocation_seq_checked: facts.revocationSequence,
    feed: facts.feed,
    maxFeedAgeSeconds: facts.maxFeedAgeSeconds,
    contact: facts.contact,
  }
}

interface Found {
  readonly failure: PresentedFailure | undefined
  readonly isSigned: boolean
  readonly treaty: UsedTreaty | undefined
}

const refused = (failure: PresentedFailure, isSigned = false): Found => ({ failure, isSigned, treaty: undefined })

/** Selects the newest treaty under which nothing fails. Without one, the newest decides what is wrong. */
async function findTreaty({ attestation, isOwnId, treaties, now }: PresentedFacts): Promise<Found> {
  if (isOwnId) return refused('attestation_invalid')
  const [newest] = treaties
  if (newest === undefined) return refused('treaty_not_found')
  const inForce = treaties.filter((each) => whyNotInForce(each, now) === undefined).slice(0, MAX_TREATIES)
  if (inForce.length === 0) return refused(whyNotInForce(newest, now) ?? 'treaty_not_found')
  // Treaties often name the same keys, and each key is tried once.
  const signers = new Map<string, boolean>()
  let first: Found | undefined
  for (const { treaty } of inForce) {
    const found = await judge(attestation, treaty, signers)
    if (found.failure === undefined) return found
    first ??= found
  }
  return first ?? refused('treaty_not_found')
}

function whyNotInForce({ treaty, isActive }: StoredTreaty, now: Instant): PresentedFailure | undefined {
  if (!isActive || treaty.status !== 'active') return 'treaty_revoked'
  if (now >= instantOf(treaty.expires_at)) return 'treaty_expired'
  return now < instantOf(treaty.valid_from) - CLOCK_TOLERANCE ? 'treaty_not_yet_valid' : undefined
}

async function judge(
  attestation: Attestation,
  treaty: RecognitionTreaty,
  signers: Map<string, boolean>,
): Promise<Found> {
  const { scope } = treaty
  if (!(await isSignedByOne(attestation, treaty.subject_public_keys, signers))) return refused('attestation_invalid')
  if (attestation.status !== 'active' || !scope.accepted_statuses.includes('active'))
    return refused('attestation_revoked', true)
  const { roles } = attestation
  if (roles.length === 0 || !roles.every((role) => scope.allowed_roles.includes(role)))
    return refused('attestation_role_not_allowed', true)
  return { failure: undefined, isSigned: true, treaty: usedTreaty(treaty) }
}

async function isSignedByOne(
  attestation: Attestation,
  keys: readonly string[],
  signers: Map<string, boolean>,
): Promise<boolean> {
  for (const key of keys) {
    const isSigned = signers.get(key) ?? (await verifyList(attestation, [key]))
    signers.set(key, isSigned)
    if (isSigned) return true
  }
  return false
}

function usedTreaty(treaty: RecognitionTreaty): UsedTreaty {
  const { signatures: _signatures, ...body } = treaty
  const { treaty_id, expires_at, scope } = treaty
  const capabilities = grantedCapabilities(scope)
  const budgets = treatyBudgets(scope) ?? []
  return { treaty_id, treaty_digest: digestOf(body), expires_at, capabilities, budgets }
}

function findLaterFailure({ attestation, isRevoked, requester }: PresentedFacts): PresentedFailure | undefined {
  if (isRevoked) return 'attestation_revoked'
  const isNamed = requester === undefined || requester === attestation.issuer_sovereign_id
  return isNamed ? undefined : 'attestation_subject_mismatch'
}

const MAX_CLAIMS_BYTES = 4096

/** The value of `attributes.chancery_recognition` in the context of a decision. */
export function recognitionAttribute({ attestation, attestation_digest, treaty, feed }: PresentedBasis): JsonObject {
  const { issuer_sovereign_id, subject_id, roles, claims } = attestation
  return {
    issuer_sovereign_id,
    subject_id,
    roles,
    treaty_id: treaty?.treaty_id ?? null,
    treaty_digest: treaty?.treaty_digest ?? null,
    attestation_digest,
    feed_sequence: feed?.sequence ?? 0,
    feed_issued_at: feed?.issued_at ?? null,
    ...(canonicalBytes(claims).length <= MAX_CLAIMS_BYTES ? { claims } : {}),
  }
}
