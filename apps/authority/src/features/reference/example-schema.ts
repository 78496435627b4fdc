import { EXAMPLE_KEY, EXAMPLE_LATER, EXAMPLE_SIGNATURE, EXAMPLE_TIME, exampleRecordName } from '@chancery/contract'
import type { BodyFacts, BodyForm, Route } from '@chancery/contract'
import { type JsonObject, type JsonValue, type Read, isJsonObject, schemaOf } from '@chancery/protocol'
import { ref, toOpenApi } from './component-schemas.ts'

/** Returns the schema of a body. A record may be replaced by its text, so neither of the two is required. */
export function bodySchema(route: Route, facts: BodyFacts | BodyForm): JsonObject {
  const records = Object.keys(route.records ?? {})
  if ('read' in facts) return withTexts(formSchema(facts.read), records)
  const { example, optional = [], more = {}, nullable = [], choices = {}, closed } = facts
  const properties: Record<string, JsonObject> = {}
  for (const [name, value] of Object.entries({ ...example, ...more })) {
    const schema = valueSchema(value)
    const allowed = choices[name]
    const chosen = allowed === undefined ? schema : { ...schema, enum: allowed }
    properties[name] = nullable.includes(name) ? orNull(chosen) : chosen
  }
  for (const name of records) addText(properties, name)
  const required = Object.keys(example).filter((name) => !optional.includes(name) && !records.includes(name))
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(closed === true ? { additionalProperties: false } : {}),
  }
}

/** Returns the schema of an answer. Later releases may add members. */
export function answerSchema(answer: Route['answer'], preview: Route['preview']): JsonObject {
  if (preview !== undefined) return { anyOf: [answerSchema(answer, undefined), formSchema(preview)] }
  if (answer === undefined) return { type: 'object' }
  if (typeof answer === 'function') return formSchema(answer)
  if (typeof answer === 'string') return ref(answer)
  return { ...valueSchema(answer), required: Object.keys(answer) }
}

/** Published records are named, not repeated. */
export function formSchema(read: Read<unknown>): JsonObject {
  return toOpenApi(schemaOf(read) as JsonObject)
}

function withTexts(schema: JsonObject, records: readonly string[]): JsonObject {
  const { properties, required, ...rest } = schema as {
    properties: Record<string, JsonObject>
    required?: readonly string[]
  }
  const all = { ...properties }
  for (const name of records) addText(all, name)
  const needed = (required ?? []).filter((name) => !records.includes(name))
  return { ...rest, properties: all, ...(needed.length === 0 ? {} : { required: needed }) }
}

function addText(properties: Record<string, JsonObject>, name: string): void {
  const [outer = '', inner] = name.split('.')
  const text = { type: 'string', description: `The JSON text of ${name}, in place of it.` }
  if (inner === undefined) properties[`${outer}_text`] = text
  else properties[outer] = withTexts(properties[outer] ?? {}, [inner])
}

/** `<public key>`, and keys of a named party. */
const KEYS = EXAMPLE_KEY.slice(0, -1)

function valueSchema(value: JsonValue): JsonObject {
  const record = exampleRecordName(value)
  if (record !== undefined) return ref(record)
  if (typeof value === 'string' && value.startsWith(KEYS)) return ref('public_key')
  if (value === EXAMPLE_SIGNATURE) return ref('signature_text')
  if (value === EXAMPLE_TIME || value === EXAMPLE_LATER) return ref('timestamp')
  if (Array.isArray(value)) {
    const [first] = value as readonly JsonValue[]
    return { type: 'array', items: first === undefined ? {} : valueSchema(first) }
  }
  if (isJsonObject(value)) return objectSchema(value)
  if (typeof value === 'number') return { type: 'integer' }
  return { type: typeof value === 'boolean' ? 'boolean' : 'string' }
}

/** A name in brackets stands for any name. */
function objectSchema(value: JsonObject): JsonObject {
  const entries = Object.entries(value)
  const [first] = entries
  if (first === undefined) return { type: 'object' }
  if (first[0].startsWith('<')) return { type: 'object', additionalProperties: valueSchema(first[1]) }
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, inner]) => [name, valueSchema(inner)])),
  }
}

/** A schema with a reference has no other keyword. */
function orNull(schema: JsonObject): JsonObject {
  if (schema['$ref'] === undefined) return { ...schema, nullable: true }
  return { anyOf: [schema, { type: 'object', nullable: true, enum: [null] }] }
}
