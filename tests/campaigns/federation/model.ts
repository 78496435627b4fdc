/**
 * What an authority must decide on a member of a partner, written from the specification (between sovereigns 3.2 to
 * 3.6) alone. Times are microseconds since 1970.
 */

export interface ModelTreaty {
  readonly treaty_id: string
  readonly issuer: string
  readonly subject: string
  readonly keys: readonly string[]
  readonly roles: readonly string[]
  /** Undefined: the treaty names no capabilities. */
  readonly capabilities: readonly string[] | undefined
  readonly issued_at: bigint
  readonly valid_from: bigint
  readonly expires_at: bigint
  isRevoked: boolean
}

export interface ModelAttestation {
  readonly attestation_id: string
  readonly issuer: string
  /** Public key that signed it. */
  readonly signedBy: string
  readonly roles: readonly string[]
  readonly capabilities: readonly string[]
  readonly valid_from: bigint
  readonly expires_at: bigint
  isRevoked: boolean
}

/** A version of a feed, as its issuer published it. */
export interface ModelFeed {
  readonly sequence: number
  readonly issued_at: bigint
  readonly ids: ReadonlySet<string>
}

export interface Question {
  readonly attestation: ModelAttestation
  /** The record was changed after it was signed. */
  readonly isForged: boolean
  readonly capability: string
  readonly treaty_id: string | undefined
  readonly now: bigint
  readonly treaties: readonly ModelTreaty[]
  /** The newest feed that the authority has imported. */
  readonly feed: ModelFeed | undefined
  /** Ids that some imported feed may have listed before they were left out of later ones. */
  readonly earlier: ReadonlySet<string>
  readonly maxAgeSeconds: number
}

/** Denial reasons that are right; `null` stands for an authorized decision. More than one where both are right. */
export interface Expected {
  readonly reasons: ReadonlySet<string | null>
  /** P1 to P4a hold. Otherwise a caller without certificate gets a refusal, not a decision. */
  readonly isSigned: boolean
}

const SECOND = 1_000_000n
const AHEAD = 300n * SECOND
const MOST_TREATIES = 64

export function predict(question: Question): Expected {
  const { now, treaty_id, attestation, treaties } = question
  const named = treaties
    .filter(
      ({ subject, treaty_id: id }) => subject === attestation.issuer && (treaty_id === undefined || id === treaty_id),
    )
    .toSorted(newestFirst)
  const [newest] = named
  if (newest === undefined) return only('treaty_not_found', false)
  const inForce = named.filter((treaty) => isInForce(treaty, now)).slice(0, MOST_TREATIES)
  if (inForce.length === 0) return { reasons: whyNotInForce(newest, now), isSigned: false }
  const failures = inForce.map((treaty) => failureUnder(treaty, question))
  const used = inForce[failures.indexOf(undefined)]
  if (used === undefined) return only(failures[0] ?? null, failures[0] !== 'attestation_invalid')
  const further = afterTreaty(used, question)
  const { feed, earlier } = question
  if (feed?.ids.has(attestation.attestation_id) === true) return only('attestation_revoked', true)
  if (!earlier.has(attestation.attestation_id)) return only(further, true)
  return { reasons: new Set([further, 'attestation_revoked']), isSigned: true }
}

function only(reason: string | null, isSigned: boolean): Expected {
  return { reasons: new Set([reason]), isSigned }
}

/** By time of issue, ties by smallest id. */
function newestFirst(a: ModelTreaty, b: ModelTreaty): number {
  if (a.issued_at !== b.issued_at) return a.issued_at > b.issued_at ? -1 : 1
  return a.treaty_id < b.treaty_id ? -1 : 1
}

export function isInForce({ isRevoked, valid_from, expires_at }: ModelTreaty, now: bigint): boolean {
  return !isRevoked && valid_from - AHEAD <= now && now < expires_at
}

function whyNotInForce({ isRevoked, expires_at }: ModelTreaty, now: bigint): ReadonlySet<string> {
  const reasons = new Set<string>()
  if (isRevoked) reasons.add('treaty_revoked')
  if (now >= expires_at) reasons.add('treaty_expired')
  if (reasons.size === 0) reasons.add('treaty_not_yet_valid')
  return reasons
}

/** P4a to P4c. Every attestation of the campaign is signed with the status active. */
function failureUnder({ keys, roles }: ModelTreaty, { attestation, isForged }: Question): string | undefined {
  if (isForged || !keys.includes(attestation.signedBy)) return 'attestation_invalid'
  if (attestation.roles.length === 0 || !attestation.roles.every((role) => roles.includes(role)))
    return 'attestation_role_not_allowed'
  return undefined
}

/** Gates 2 to 4. */
function afterTreaty(treaty: ModelTreaty, question: Question): string | null {
  const { attestation, now, capability, feed, maxAgeSeconds } = question
  if (now < attestation.valid_from - AHEAD) return 'attestation_not_yet_valid'
  if (now > attestation.expires_at) return 'attestation_expired'
  const isGranted = treaty.capabilities?.some((entry) => isMatch(entry, capability)) === true
  if (!attestation.capabilities.includes(capability) || !isGranted) return 'capability out of scope'
  if (maxAgeSeconds === 0) return null
  if (feed === undefined) return 'insufficient freshness'
  const age = now - feed.issued_at
  return age <= BigInt(maxAgeSeconds) * SECOND && age >= -AHEAD ? null : 'insufficient freshness'
}

function isMatch(entry: string, capability: string): boolean {
  return entry.endsWith('.*') ? capability.startsWith(entry.slice(0, -1)) : entry === capability
}

/** The longest wait until the next pull: the interval, doubled with each failure up to an hour, and a tenth (5.4). */
export function longestPauseSeconds(interval: number, failures: number): number {
  const most = Math.max(3600, interval)
  return Math.min(most, interval * 2 ** failures) * 1.1
}
