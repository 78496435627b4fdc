import { type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'

const REDACTED = '<redacted>'
const SECRET_WORDS = [
  'admin_signature',
  'body',
  'invite_token',
  'nonce',
  'private_key',
  'request_body',
  'signature',
  'token',
]

/** An event as it may leave the database (protocol/core 26). No secrets are recorded; this is a second protection. */
export function redactEvent(event: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, isSecretName(name) ? REDACTED : redactValue(value)]),
  )
}

function redactValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(redactValue)
  return isJsonObject(value) ? redactEvent(value) : value
}

function isSecretName(name: string): boolean {
  return !name.endsWith('_fingerprint') && SECRET_WORDS.some((word) => name.includes(word))
}
