import { type JsonObject, type JsonValue, SCHEMA_NAMES, recordSchema } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Route } from '@chancery/contract'

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
