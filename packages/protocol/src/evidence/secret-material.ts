import { writeJson } from '../canonical/canonical-json.ts'
import { JsonFloat, type JsonObject, type JsonValue, toUtf8 } from '../canonical/utf8.ts'

export const MAX_METADATA_BYTES = 16_384

const SECRET_NAMES: ReadonlySet<string> = new Set([
  'value',
  'secret',
  'secretvalue',
  'password',
  'passwd',
  'passphrase',
  'token',
  'accesstoken',
  'refreshtoken',
  'bearer',
  'privatekey',
  'keymaterial',
  'credential',
  'credentials',
  'clientsecret',
  'apikey',
  'pem',
  'connectionstring',
])

const OPAQUE = /^[A-Za-z0-9+/=_-]{120,}$/
const TOKEN = /^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/**
 * Returns true when metadata looks like a secret: a typical name, a PEM block, a long opaque text, a signed
 * token, or too much text (protocol/trust-operations 6.6). The store is permanent and exported, so a
 * secret must not enter it even once.
 */
export function hasSecretMaterial(execution_parameters: JsonObject, outcome_detail: string | null): boolean {
  return (
    (outcome_detail !== null && isSecretText(outcome_detail)) ||
    isSecret(execution_parameters) ||
    metadataBytes(execution_parameters, outcome_detail) > MAX_METADATA_BYTES
  )
}

function isSecret(value: JsonValue): boolean {
  if (typeof value === 'string') return isSecretText(value)
  if (typeof value !== 'object' || value === null || value instanceof JsonFloat) return false
  if (Array.isArray(value)) return value.some(isSecret)
  return Object.entries(value as JsonObject).some(
    ([name, each]) => SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_.]/g, '')) || isSecret(each),
  )
}

function isSecretText(text: string): boolean {
  return text.includes('-----BEGIN') || OPAQUE.test(text) || TOKEN.test(text)
}

/** The compact text with characters as they are: escapes would count an umlaut six times. */
function metadataBytes(execution_parameters: JsonObject, outcome_detail: string | null): number {
  const escaped = writeJson({ execution_parameters, outcome_detail })
  const plain = escaped.replaceAll(/\\u([0-9a-f]{4})/g, (whole, digits: string, at: number) =>
    isEscaped(escaped, at) || Number.parseInt(digits, 16) < 0x20
      ? whole
      : String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return toUtf8(plain).length
}

/** True when the backslash at this place is itself escaped by the one before it. */
function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charAt(at - 1 - backslashes) === '\\') backslashes += 1
  return backslashes % 2 === 1
}
