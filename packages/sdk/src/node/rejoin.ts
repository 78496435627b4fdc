import { instantOf, member, readJoinCertificate, readJson, readOrUndefined, writeJson } from '@chancery/protocol'
import type { JoinCertificate } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { RefusedError } from '../errors.ts'
import { type Expected, requireOwnCertificate } from './certificate.ts'
import { requireOwnOrFollow } from './following.ts'
import type { FollowedKeys } from './followed.ts'

/** Too late for a renewal: by one of these a rule of the authority may admit the node again. */
const TOO_LATE: ReadonlySet<string> = new Set(['certificate_expired', 'certificate_superseded'])

interface Rejoining {
  readonly client: Client
  readonly followed: FollowedKeys
  readonly expected: () => Expected
}

/** Returns the own certificate of an earlier run although it expired; undefined for any other text. */
export async function readExpired(text: string | undefined, expected: Expected): Promise<JoinCertificate | undefined> {
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

export function isTooLate(error: unknown): boolean {
  return error instanceof RefusedError && TOO_LATE.has(error.code)
}
