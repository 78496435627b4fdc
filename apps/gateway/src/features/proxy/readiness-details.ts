import { type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'

const MAX_BYTES = 65_536

/** Words, numbers and digests. A path or an address has other characters. */
const PLAIN = /^[A-Za-z0-9_-]{1,64}$/

/**
 * Returns what an operator of the gateway may read of an authority that is not ready (protocol/gateway 13.1): named
 * members with plain values, never the location of its database.
 */
export function readinessOf(body: Buffer | undefined): JsonObject | undefined {
  const details = detailsOf(body)
  if (details === undefined) return undefined
  const { status, database, signing_key, rate_limiter } = details
  const fingerprint = isJsonObject(signing_key) ? signing_key['fingerprint'] : undefined
  return {
    status: isPlain(status) ? status : 'not_ready',
    ...(isJsonObject(database) ? { database: plainMembers(database) } : {}),
    ...(isPlain(fingerprint) ? { signing_key: { fingerprint } } : {}),
    ...(isPlain(rate_limiter) ? { rate_limiter } : {}),
  }
}

function detailsOf(body: Buffer | undefined): JsonObject | undefined {
  // Read on the event loop, so the size is limited. A valid response has some hundred bytes.
  if (body === undefined || body.length > MAX_BYTES) return undefined
  try {
    const value = JSON.parse(body.toString('utf8')) as JsonValue
    const error = isJsonObject(value) ? value['error'] : undefined
    const details = isJsonObject(error) ? error['details'] : undefined
    return isJsonObject(details) ? details : undefined
  } catch {
    return undefined
  }
}

const DATABASE_MEMBERS = ['backend', 'writable', 'schema_version', 'expected_schema_version', 'error']

function plainMembers(database: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(database).filter(([name, value]) => DATABASE_MEMBERS.includes(name) && isPlain(value)),
  )
}

function isPlain(value: JsonValue | undefined): value is string | number | boolean | null {
  if (typeof value === 'string') return PLAIN.test(value)
  return value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isSafeInteger(value))
}
