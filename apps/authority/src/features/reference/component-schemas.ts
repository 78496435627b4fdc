import { type JsonObject, type JsonValue, type Read, SCHEMA_NAMES, recordSchema, schemaOf } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { BodyForm, Route } from '@chancery/contract'

export interface ReferenceParts extends Pick<Core, 'clock' | 'limits' | 'network' | 'signing'> {
  readonly settings: Pick<AuthoritySettings, 'publicUrl'>
  /** The routes of this instance, for the reference documents. */
  listRoutes(): readonly Route[]
}

/** Keywords that OpenAPI 3.0.3 lacks. They say nothing about the form of a record. */
const LEFT_OUT: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', '$defs'])

export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** Returns the published schema of every record, and of the parts they share, in the words of OpenAPI 3.0.3. */
export function componentSchemas(): JsonObject {
  const components: Record<string, JsonObject> = {}
  for (const name of SCHEMA_NAMES) {
    // The published schema is plain data.
    const schema = recordSchema(name) as JsonObject
    components[name] = toOpenApi(schema)
    for (const [part, inner] of Object.entries((schema['$defs'] ?? {}) as Record<string, JsonObject>))
      components[part] = toOpenApi(inner)
  }
  return { ...components, 'error-envelope': ERROR_ENVELOPE }
}

/** Rewrites a schema of draft 2020-12 without a change of meaning. */
export function toOpenApi(schema: JsonObject): JsonObject {
  const { type } = schema
  if (Array.isArray(type)) return ofTypes(schema, type as readonly string[])
  const kept = Object.entries(schema).filter(
    ([keyword, value]) => !LEFT_OUT.has(keyword) && !isNothingRequired(keyword, value),
  )
  return Object.fromEntries(kept.map(([keyword, value]) => rewrite(keyword, value)))
}

/** OpenAPI 3.0.3 forbids an empty list of required members. */
function isNothingRequired(keyword: string, value: JsonValue): boolean {
  return keyword === 'required' && Array.isArray(value) && value.length === 0
}

function rewrite(keyword: string, value: JsonValue): [string, JsonValue] {
  switch (keyword) {
    case '$ref':
      return [keyword, (value as string).replace('#/$defs/', '#/components/schemas/')]
    case 'contentEncoding':
      return ['format', 'byte']
    case 'type':
      return value === 'null' ? ['enum', [null]] : [keyword, value]
    case 'properties':
      return [
        keyword,
        Object.fromEntries(
          Object.entries(value as Record<string, JsonObject>).map(([name, inner]) => [name, toOpenApi(inner)]),
        ),
      ]
    case 'items':
    case 'additionalProperties':
      return [keyword, typeof value === 'boolean' ? value : toOpenApi(value as JsonObject)]
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return [keyword, (value as readonly JsonObject[]).map(toAlternative)]
    default:
      return [keyword, value]
  }
}

/** Null alone has no type in OpenAPI 3.0.3: it is a nullable type whose only value is null. */
function toAlternative(schema: JsonObject): JsonObject {
  return schema['type'] === 'null' ? { type: 'object', nullable: true, enum: [null] } : toOpenApi(schema)
}

function ofTypes(schema: JsonObject, types: readonly string[]): JsonObject {
  const named = types.filter((each) => each !== 'null')
  const nullable = named.length < types.length ? { nullable: true } : {}
  const [only] = named
  if (named.length === 1 && only !== undefined) return { ...toOpenApi({ ...schema, type: only }), ...nullable }
  const { type: _types, ...rest } = schema
  return { ...toOpenApi(rest), anyOf: named.map((each) => ({ type: each, ...nullable })) }
}

/** Published records are named, not repeated. */
export function formSchema(read: Read<unknown>): JsonObject {
  return toOpenApi(schemaOf(read) as JsonObject)
}

/** Returns the schema of a body. A record may be replaced by its text, so neither of the two is required. */
export function bodySchema(route: Route, form: BodyForm): JsonObject {
  const records = Object.keys(route.records ?? {})
  return records.length === 0 ? formSchema(form.read) : withTexts(formSchema(form.read), records)
}

/** Returns the schema of an answer. Later releases may add members. */
export function answerSchema(answer: Route['answer'], preview: Route['preview']): JsonObject {
  if (preview !== undefined) return { anyOf: [answerSchema(answer, undefined), formSchema(preview)] }
  return answer === undefined ? { type: 'object' } : formSchema(answer)
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

const ERROR_ENVELOPE: JsonObject = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'details', 'request_id'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        details: { type: 'object' },
        request_id: { type: 'string' },
      },
    },
  },
}
