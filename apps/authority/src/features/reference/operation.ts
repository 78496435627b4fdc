import {
  CONTENT_TYPES,
  ERRORS,
  EVENT_STREAM_TYPE,
  EXAMPLE_LATER,
  EXAMPLE_TIME,
  OPERATOR_HEADERS,
  authHint,
  errorCodesOf,
  exampleRecordName,
  queryNames,
  rateLimitText,
  surfaceAccess,
  surfaceGroup,
} from '@chancery/contract'
import type { ErrorCode, Route, SECURITY_SCHEMES } from '@chancery/contract'
import { HOUR, SCHEMA_NAMES, isJsonObject, recordSchema, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue } from '@chancery/protocol'
import { type ReferenceParts, answerSchema, bodySchema, formSchema, ref } from './component-schemas.ts'

/**
 * A point of the curve made from a hash, so that no party has its private key. A copied example must not grant
 * anything to the holder of a published key.
 */
export const SAMPLE_KEY = 'dd38+7oDIpdFAVBkgoRFYyIEAUjwg7qPOidEgvy68+4='

/** Has the form of a signature and verifies under no key. */
const SAMPLE_SIGNATURE = 'dd38+7oDIpdFAVBkgoRFYyIEAUjwg7qPOidEgvy68+4BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=='

const SAMPLE_DIGEST: string = '5a'.repeat(32)

/** The import of a feed checks its signature with its form, so this one is signed. The private key was not stored. */
const SAMPLE_FEED_KEY = '/wLhI+tJQRyLZV9r5mB8TALazOjlP7inHUgt+dxy51I='
const SAMPLE_FEED: JsonObject = {
  feed_id: 'feed-id',
  issuer_sovereign_id: 'sovereign-id',
  sequence: 1,
  issued_at: '2026-01-01T00:00:00Z',
  revoked_attestation_ids: ['attestation-id'],
  revocation_reasons: { 'attestation-id': 'superseded' },
  issued_by: 'key-id',
  signatures: [
    {
      key_id: 'key-id',
      sig: 'xvkmTDs/4ENw3NGKlsUuWUvSwxJLm8qKRNW+SxMCaltHTiiZNirxgIYJnNo93cqsS0Wd79lJoCUWve3lqdzsDA==',
    },
  ],
}

/** Returns a record of the right form, made from its published schema. Its signature verifies under no key. */
function exampleRecord(name: string, now: Instant): JsonObject {
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

/** What the authority puts into the examples of its own document. */
interface ExampleFacts {
  readonly sovereign_id: string
  readonly authorityKey: string
  readonly now: Instant
}

/** Replaces the values in brackets, so that the example passes the form checks of its route. */
function fillExample(example: JsonObject, facts: ExampleFacts): JsonObject {
  const words: Readonly<Record<string, string>> = {
    '<public key>': SAMPLE_KEY,
    '<public key of the feed>': SAMPLE_FEED_KEY,
    '<signature>': SAMPLE_SIGNATURE,
    '<random nonce>': 'a-nonce-of-32-characters-at-least',
    '<public key of the authority>': facts.authorityKey,
    '<own sovereign id>': facts.sovereign_id,
    '<network name>': facts.sovereign_id,
    [EXAMPLE_TIME]: writeInstant(facts.now),
    [EXAMPLE_LATER]: writeInstant(facts.now + 24n * HOUR),
  }
  return fill(example) as JsonObject

  function fill(value: JsonValue): JsonValue {
    const record = exampleRecordName(value)
    if (record !== undefined) return exampleRecord(record, facts.now)
    if (typeof value === 'string') return words[value] ?? withoutBrackets(value)
    if (Array.isArray(value)) return (value as readonly JsonValue[]).map(fill)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [withoutBrackets(name), fill(inner)]))
  }
}

/** Names in brackets become ids: `<sovereign id>` is `sovereign-id`. */
function withoutBrackets(text: string): string {
  return text.startsWith('<') && text.endsWith('>') ? text.slice(1, -1).replaceAll(' ', '-') : text
}

/** Returns one operation of the document, from the facts of its route. */
export function toOperation(route: Route, { limits }: Pick<ReferenceParts, 'limits'>, facts: ExampleFacts): JsonObject {
  const limit = rateLimitText(route.limit, (limiter) => limits.perMinute[limiter])
  const scheme = schemeOf(route)
  return {
    operationId: route.id,
    summary: route.summary,
    description: route.purpose,
    tags: [surfaceGroup(route.access)],
    parameters: parametersOf(route),
    ...requestBody(route, facts),
    responses: {
      [String(route.success)]: { description: 'Success.', content: successContent(route) },
      ...errorResponses(route),
    },
    ...(scheme === undefined ? {} : { security: [{ [scheme]: [] }] }),
    'x-chancery-access': surfaceAccess(route.access),
    'x-chancery-auth-hint': authHint(route.access),
    'x-chancery-stability': route.stability,
    ...(limit === null ? {} : { 'x-chancery-rate-limit': limit }),
  }
}

/** Path, query and header parameters. Where operator headers are optional, the route returns more with them. */
function parametersOf(route: Route): JsonObject[] {
  const { query: readers = {} } = route
  const parameter = (name: string, place: string, required: boolean): JsonObject => ({
    name,
    in: place,
    required,
    schema: readers[name] === undefined ? plainSchema(name) : formSchema(readers[name]),
  })
  const signed = route.access.includes('operator:')
  return [
    ...route.params.map((name) => parameter(name, 'path', true)),
    ...queryNames(route).map((name) => parameter(name, 'query', false)),
    ...(signed ? Object.values(OPERATOR_HEADERS) : []).map((name) =>
      parameter(name, 'header', route.access !== 'public-or-operator:standard'),
    ),
    ...(route.repeatable === true ? [parameter('Idempotency-Key', 'header', false)] : []),
  ]
}

function plainSchema(name: string): JsonObject {
  return { type: name === 'limit' || name === 'offset' ? 'integer' : 'string' }
}

function requestBody(route: Route, facts: ExampleFacts): JsonObject {
  const { body } = route
  if (body === undefined) return {}
  const content = { schema: bodySchema(route, body), example: fillExample(body.example, facts) }
  return { requestBody: { required: true, content: { [JSON_TYPE]: content } } }
}

const JSON_TYPE = 'application/json'
const ERROR_CONTENT: JsonObject = { [JSON_TYPE]: { schema: ref('error-envelope') } }

function errorResponses(route: Route): JsonObject {
  const byStatus: Record<string, ErrorCode[]> = {}
  for (const code of errorCodesOf(route))
    (byStatus[String(route.statuses?.[code] ?? ERRORS[code].status)] ??= []).push(code)
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes]) => [
      status,
      { description: 'Refused.', content: ERROR_CONTENT, 'x-chancery-error-codes': codes },
    ]),
  )
}

function successContent({ response, answer, preview, stream }: Route): JsonObject {
  const events: JsonObject = stream === undefined ? {} : { [EVENT_STREAM_TYPE]: { schema: { type: 'string' } } }
  if (response === 'json') return { [JSON_TYPE]: { schema: answerSchema(answer, preview) }, ...events }
  const isBinary = response === 'static' || response === 'tile' || response === 'receipt'
  const type = response === 'static' ? '*/*' : CONTENT_TYPES[response]
  return { [type]: { schema: isBinary ? { type: 'string', format: 'binary' } : { type: 'string' } } }
}

function schemeOf(route: Route): keyof typeof SECURITY_SCHEMES | undefined {
  if (route.access === 'operator:standard' || route.access === 'operator:privileged') return 'OperatorSignature'
  return route.access === 'node' || route.access === 'executor' ? 'NodeProof' : undefined
}
