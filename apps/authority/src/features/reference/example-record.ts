import { HOUR, SCHEMA_NAMES, isJsonObject, recordSchema, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue } from '@chancery/protocol'
import { SAMPLE_DIGEST, SAMPLE_FEED, SAMPLE_KEY, SAMPLE_SIGNATURE } from './samples.ts'

/** Returns a record of the right form, made from its published schema. Its signature verifies under no key. */
export function exampleRecord(name: string, now: Instant): JsonObject {
  if (name === 'sovereign-revocation-feed') return SAMPLE_FEED
  const known = SCHEMA_NAMES.find((each) => each === name)
  if (known === undefined) throw new TypeError(`no record is named ${name}`)
  const schema = recordSchema(known) as JsonObject
  return sample(schema, '', { schema, now }) as JsonObject
}

interface Sampling {
  readonly schema: JsonObject
  readonly now: Instant
}

function sample(schema: JsonObject, name: string, from: Sampling): JsonValue {
  const { $ref, type, anyOf, allOf, enum: words, default: absent, minimum } = schema
  if (typeof $ref === 'string') return sampleNamed($ref.split('/').at(-1) ?? '', name, from)
  // Most readers take a record without a signature and refuse it later.
  if (absent !== undefined && !name.startsWith('signature')) return absent
  if (Array.isArray(anyOf)) return sample(anyOf[0] as JsonObject, name, from)
  if (Array.isArray(allOf)) return sample(allOf[0] as JsonObject, name, from)
  if (Array.isArray(words)) return words[0] as JsonValue
  if (Array.isArray(type)) return type.includes('null') ? null : sample({ ...schema, type: type[0] ?? '' }, name, from)
  switch (type) {
    case 'object':
      return sampleObject(schema, from)
    case 'array':
      return isJsonObject(schema['items']) ? [sample(schema['items'], name, from)] : []
    case 'integer':
    case 'number':
      return typeof minimum === 'number' ? Math.max(minimum, 1) : 1
    case 'boolean':
      return true
    default:
      return sampleText(schema, name)
  }
}

function sampleObject({ properties, required }: JsonObject, from: Sampling): JsonObject {
  const needed = Array.isArray(required) ? (required as readonly string[]) : []
  const all = isJsonObject(properties) ? Object.entries(properties) : []
  const isShown = (member: string): boolean => needed.includes(member) || member.startsWith('signature')
  return Object.fromEntries(
    all
      .filter(([member]) => isShown(member))
      .map(([member, inner]) => [member, sample(inner as JsonObject, member, from)]),
  )
}

/** The parts that records share. Times that end something are later than the others. */
function sampleNamed(part: string, name: string, from: Sampling): JsonValue {
  if (part === 'public_key') return SAMPLE_KEY
  if (part === 'signature_text') return SAMPLE_SIGNATURE
  if (part === 'signature') return { key_id: 'key-id', sig: SAMPLE_SIGNATURE }
  if (part === 'timestamp') {
    const isEnd = /expires|until|next_update|valid_to/.test(name)
    return writeInstant(isEnd ? from.now + HOUR : from.now)
  }
  const defs = from.schema['$defs'] as JsonObject
  return sample(defs[part] as JsonObject, name, from)
}

function sampleText({ pattern, minLength }: JsonObject, name: string): string {
  const form = typeof pattern === 'string' ? pattern : ''
  const digits = /\[0-9a-f\]\{(\d+)\}/.exec(form)?.[1]
  if (digits !== undefined) return SAMPLE_DIGEST.slice(0, Number(digits))
  if (form.includes('role:')) return 'role:client'
  const text = name === '' ? 'text' : name.replaceAll('_', '-')
  return typeof minLength === 'number' ? text.padEnd(minLength, '-') : text
}
