import { createHash } from 'node:crypto'

/**
 * Everything about a seeded node follows from the seed of the run and its index, so nothing of a million nodes needs to
 * be stored.
 */

/** Returns the private seed of a seeded node in base64, so that a load generator can sign for it. */
export function seededNodeSeed(seed: string, index: number): string {
  return seededNodeBytes(seed, index).toString('base64')
}

export function seededNodeBytes(seed: string, index: number): Buffer {
  return createHash('sha256').update(`seeded/${seed}/node/${index}`).digest()
}

export function seededCertificateId(seed: string, index: number): string {
  const hex = createHash('sha256').update(`seeded/${seed}/certificate/${index}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns the address of a node by its first certificate id. {@link SEEDED_ADDRESS} is the same in SQL. */
export function seededAddress(cert_id: string): string {
  const part = (from: number): number => Number.parseInt(cert_id.slice(from, from + 2), 16)
  return `10.${part(0)}.${part(2)}.${part(4)}`
}

const sqlPart = (from: number): string => `('x' || substr(cert_id, ${from}, 2))::bit(8)::int`
export const SEEDED_ADDRESS = `'10.' || ${sqlPart(1)} || '.' || ${sqlPart(3)} || '.' || ${sqlPart(5)}`

const HOUR_MS = 3_600_000
export const SEEDED_VALIDITY_HOURS = 168
/** Certificates of 168 hours are renewed 24 hours before their end, spread over 2 hours (renewalTime of the library). */
const RENEWED_AFTER_HOURS = 144
const SPREAD_HOURS = 2
/** These are due at once, so that also a short run has renewals. */
export const OVERDUE_NODES = 4

/** How long before the fill a certificate was issued, and how long after its issue its node renews it. */
export interface SeededAge {
  readonly issuedBeforeMs: number
  readonly renewedAfterMs: number
}

/** Ages of a network that has been in use for weeks: at any time equally many certificates are due for renewal. */
export function seededAge(seed: string, index: number): SeededAge {
  const digest = createHash('sha256').update(`seeded/${seed}/age/${index}`).digest()
  const [spread, age] = [digest.readUInt32BE(0) / 2 ** 32, digest.readUInt32BE(4) / 2 ** 32]
  const renewedAfterMs = (RENEWED_AFTER_HOURS + SPREAD_HOURS * spread) * HOUR_MS
  return { renewedAfterMs, issuedBeforeMs: Math.floor(index < OVERDUE_NODES ? renewedAfterMs : renewedAfterMs * age) }
}
