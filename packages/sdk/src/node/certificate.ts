import {
  authorityKeysAt,
  genesisDigest,
  instantOf,
  member,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  verifyJoinCertificate,
  writeJson,
} from '@chancery/protocol'
import type { AuthorityKeys, CrlEntry, Instant, JoinCertificate } from '@chancery/protocol'
import { ChanceryError, RefusedError, RevokedError, UsageError, VerificationError } from '../errors.ts'
import type { NodeAreas } from './areas.ts'
import type { NodeSettings } from './settings.ts'
import type { FollowedKeys, NodeStore } from './followed.ts'

/** An error of this library; any other is a defect of the platform or of a store. */
export function toNodeError(error: unknown): ChanceryError {
  if (error instanceof ChanceryError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new UsageError(message, { cause: error })
}

/** The revocation list names the certificate in use. */
export function listedAsRevoked(entry: CrlEntry): RevokedError {
  const message = `the certificate ${entry.certificate_id} is revoked: ${entry.reason}`
  return new RevokedError({ status: 403, code: 'certificate_revoked', message, details: {} }, entry)
}

export interface Expected {
  readonly keys: AuthorityKeys
  readonly publicKey: string
  readonly now: Instant
}

/** Checks a certificate before it is used. */
async function requireOwnCertificate(certificate: JoinCertificate, expected: Expected): Promise<void> {
  const { keys, publicKey, now } = expected
  if (certificate.node_public_key !== publicKey)
    throw new VerificationError('certificate_key_mismatch', 'certificate', 'it is of another node key')
  const verdict = await verifyJoinCertificate(certificate, {
    network_name: keys.genesis.network_name,
    authorityKey: authorityKeysAt(keys, certificate.issued_at),
    now,
  })
  if (!verdict.ok)
    throw new VerificationError(
      verdict.reason,
      'certificate',
      `${certificate.cert_id} is not usable: ${verdict.reason}`,
    )
}

/** Returns the certificate of an earlier run if it is still valid; otherwise the node must join. */
export async function readStored(text: string | undefined, expected: Expected): Promise<JoinCertificate | undefined> {
  if (text === undefined) return undefined
  try {
    const certificate = readJoinCertificate(readJson(text))
    await requireOwnCertificate(certificate, expected)
    // Without the tolerance of verifiers, because the authority does not renew an expired certificate.
    return expected.now < instantOf(certificate.expires_at) ? certificate : undefined
  } catch {
    return undefined
  }
}

interface Following {
  readonly client: NodeAreas
  readonly followed: FollowedKeys
  readonly expected: () => Expected
}

/** A certificate that does not verify may be of a key the root has named meanwhile: asked for, then checked again. */
export async function requireOwnOrFollow(
  certificate: JoinCertificate,
  { client, followed, expected }: Following,
): Promise<void> {
  try {
    await requireOwnCertificate(certificate, expected())
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error
    const outcome = await followed.follow(client).catch(() => 'unchanged')
    if (outcome !== 'changed') throw error
    await requireOwnCertificate(certificate, expected())
  }
}

/** Uses a newer block and emits an event; emits a refusal once. */
export class Follower {
  readonly #parts: {
    readonly client: NodeAreas
    readonly followed: FollowedKeys
    readonly settings: Pick<NodeSettings, 'emit'>
  }
  #reported = ''

  constructor(parts: {
    readonly client: NodeAreas
    readonly followed: FollowedKeys
    readonly settings: Pick<NodeSettings, 'emit'>
  }) {
    this.#parts = parts
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { client, followed, settings } = this.#parts
    const before = followed.digest
    const outcome = await followed.follow(client, signal)
    if (outcome === 'unchanged') return
    if (outcome === 'changed') {
      const { genesis } = followed.keys
      const digest = genesisDigest(genesis)
      if (digest !== before) settings.emit({ type: 'keys', genesis, digest })
      return
    }
    if (outcome !== this.#reported) settings.emit({ type: 'keys_refused', reason: outcome })
    this.#reported = outcome
  }
}

/** No later call can succeed with this certificate or descriptor; a person has to act. */
const FINAL: ReadonlySet<string> = new Set([
  'certificate_expired',
  'certificate_key_mismatch',
  'certificate_not_found',
  'certificate_revoked',
  'certificate_superseded',
  'evidence_required',
  'node_key_compromised',
  'node_key_revoked',
])

/** A descriptor that has no form will not get one; a renewal that does not verify may have come from a broken proxy. */
export function isFinal(error: unknown): boolean {
  return error instanceof RefusedError ? FINAL.has(error.code) : error instanceof UsageError
}

export function isUnknown(error: unknown): boolean {
  return error instanceof RefusedError && error.code === 'certificate_not_found'
}

/** Too late for a renewal: by one of these a rule of the authority may admit the node again. */
const TOO_LATE: ReadonlySet<string> = new Set(['certificate_expired', 'certificate_superseded'])

interface Rejoining {
  readonly client: NodeAreas
  readonly followed: FollowedKeys
  readonly expected: () => Expected
}

/** Returns the own certificate of an earlier run although it expired; undefined for any other text. */
async function readExpired(text: string | undefined, expected: Expected): Promise<JoinCertificate | undefined> {
  const certificate = text === undefined ? undefined : readOrUndefined(() => readJoinCertificate(readJson(text)))
  if (certificate === undefined) return undefined
  const end = instantOf(certificate.expires_at)
  if (expected.now < end) return undefined
  // As on its last day: everything but its end is checked.
  const isOwn = await requireOwnCertificate(certificate, { ...expected, now: end - 1n }).then(
    () => true,
    () => false,
  )
  return isOwn ? certificate : undefined
}

/**
 * Gets a new certificate for the key of an expired one, when a rule of the authority allows it (docs/protocol/
 * admission.md). The refused renewal names the rule. Returns undefined when there is none.
 */
export async function rejoin(
  parts: Rejoining,
  last: JoinCertificate,
  { validityHours, signal }: { readonly validityHours?: number; readonly signal?: AbortSignal } = {},
): Promise<JoinCertificate | undefined> {
  const { enrollment } = parts.client
  const options = signal === undefined ? {} : { signal }
  const validity = validityHours === undefined ? {} : { validity_hours: validityHours }
  let certificate: JoinCertificate
  try {
    // By the clock of the authority it may not be expired.
    certificate = await enrollment.renew({ cert_id: last.cert_id, ...validity }, options)
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error
    const rule_id = TOO_LATE.has(error.code) ? member(error.details, 'rejoin_rule') : undefined
    if (typeof rule_id !== 'string') return undefined
    certificate = await enrollment.join({ evidence: { rule_id, token: writeJson(last) }, ...validity }, options)
  }
  await requireOwnOrFollow(certificate, parts)
  return certificate
}

/** Uses an expired certificate of the store to join again, before an invite is spent. */
export async function rejoinStored(
  parts: Rejoining & { readonly store: NodeStore; readonly validityHours?: number },
  text: string | undefined,
): Promise<JoinCertificate | undefined> {
  const { store, validityHours } = parts
  const last = await readExpired(text, parts.expected())
  if (last === undefined) return undefined
  const certificate = await rejoin(parts, last, validityHours === undefined ? {} : { validityHours })
  if (certificate !== undefined) await store.write('certificate', writeJson(certificate))
  return certificate
}

export function isTooLate(error: unknown): boolean {
  return error instanceof RefusedError && TOO_LATE.has(error.code)
}
