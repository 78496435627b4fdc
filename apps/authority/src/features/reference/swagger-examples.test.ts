import { ALL_ROUTES, type Route } from '@chancery/contract'
import { SCHEMA_NAMES, isJsonObject, readTrustedPublicKey, recordSchema } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { type TestAuthority, type TestResponse, accepted, startTestAuthority } from '@chancery/testkit'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SAMPLE_KEY } from './operation.ts'

interface Content {
  readonly schema: JsonObject
  readonly example?: JsonObject
}

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<
    Record<
      string,
      { readonly content: Readonly<Record<string, Content>>; readonly 'x-chancery-error-codes'?: string[] }
    >
  >
}

let na: TestAuthority
let document: JsonObject
const TAKING = ALL_ROUTES.filter(({ method }) => method !== 'GET').map((route) => [route.id, route] as const)

beforeAll(async () => {
  const settings = { EVIDENCE_STORE: 'on', NA_NODE_DECISIONS: 'partners' }
  na = await startTestAuthority({ network: 'EXAMPLE-NET', settings })
  document = accepted(await na.request('GET', '/swagger.json'))
})
afterAll(() => na.stop())

function operationOf({ method, path }: Route): Operation {
  const paths = document['paths'] as unknown as Record<string, Record<string, Operation>>
  const found = paths[path]?.[method.toLowerCase()]
  if (found === undefined) throw new Error(`${method} ${path} is not described`)
  return found
}

function exampleOf(route: Route): JsonObject {
  const example = operationOf(route).requestBody?.content['application/json']?.example
  if (example === undefined) throw new Error(`${route.id} has no example`)
  return example
}

async function send(route: Route, body: JsonObject): Promise<TestResponse> {
  const path = route.path.replaceAll(/\{[a-z_]+\}/g, 'no-such-thing')
  if (route.access.startsWith('operator:')) return na.as('privileged')(route.method, path, body)
  return na.request(route.method, path, { body })
}

function codeOf({ json }: TestResponse): string | undefined {
  const error = isJsonObject(json ?? null) ? (json as JsonObject)['error'] : undefined
  return isJsonObject(error ?? null) ? String((error as JsonObject)['code']) : undefined
}

/** Codes for a body of the wrong form. A few routes answer them with another status than 400. */
const FORM = /^(missing|unexpected)_|^invalid_(?!invite_token|signature)|_malformed$/

describe('GET /swagger.json', () => {
  it('is a valid OpenAPI 3.0.3 document', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    expect([errors ?? [], valid]).toEqual([[], true])
  })

  it.each(TAKING)('%s: the example passes the form checks, and its answer is described', async (_id, route) => {
    const answer = await send(route, exampleOf(route))
    const code = codeOf(answer)
    expect(answer.status === 400 || FORM.test(code ?? ''), `${answer.status} ${code}`).toBe(false)
    expect(answer.status).toBeLessThan(500)
    const described = operationOf(route).responses[String(answer.status < 300 ? route.success : answer.status)]
    if (code !== undefined) expect(described?.['x-chancery-error-codes']).toContain(code)
    else expect(missingMembers(described?.content['application/json']?.schema ?? {}, answer.json ?? null)).toEqual([])
  })

  it.each(TAKING)('%s: refuses an unknown member if the schema is closed, and only then', async (_id, route) => {
    const schema = operationOf(route).requestBody?.content['application/json']?.schema ?? {}
    const forms = (schema['oneOf'] ?? [schema]) as readonly JsonObject[]
    const isClosed = forms.every((each) => each['additionalProperties'] === false)
    const code = codeOf(await send(route, { ...exampleOf(route), no_such_member: 1 }))
    // These look for the partner before they read the body.
    if (code === 'partner_not_found') return
    expect(code === 'unexpected_field').toBe(isClosed)
  })

  it('has the published schema of every record, in the words of OpenAPI 3.0.3', () => {
    const { schemas } = document['components'] as { schemas: Record<string, JsonObject> }
    for (const name of SCHEMA_NAMES) {
      const published = recordSchema(name) as JsonObject
      expect(toPublished(schemas[name] ?? null), name).toEqual(comparable(published))
      for (const [part, schema] of Object.entries((published['$defs'] ?? {}) as Record<string, JsonObject>))
        expect(toPublished(schemas[part] ?? null), part).toEqual(comparable(schema))
    }
  })

  it('names operator headers, and Idempotency-Key where it is taken', () => {
    const headers = (id: string): string[] => {
      const route = ALL_ROUTES.find((each) => each.id === id)
      if (route === undefined) throw new Error(id)
      return operationOf(route)
        .parameters.filter((each) => each.in === 'header')
        .map(({ name }) => name)
    }
    const operator = ['X-Admin-Key-Id', 'X-Admin-Timestamp', 'X-Admin-Nonce', 'X-Admin-Signature']
    expect(headers('POST /admin/agreements/cosign')).toEqual([...operator, 'Idempotency-Key'])
    expect(headers('POST /admin/nodes/label')).toEqual(operator)
    expect(headers('POST /boundary/request')).toEqual([])
  })

  it('has a sample key that a treaty may name', () => {
    expect(readTrustedPublicKey(SAMPLE_KEY)).toBeDefined()
  })
})

/** Required members of a schema that an answer lacks. */
function missingMembers(schema: JsonObject, answer: JsonValue): string[] {
  const { schemas } = document['components'] as { schemas: Record<string, JsonObject> }
  const reference = schema['$ref']
  if (typeof reference === 'string') return missingMembers(schemas[reference.split('/').at(-1) ?? ''] ?? {}, answer)
  const required = (schema['required'] ?? []) as readonly string[]
  return required.filter((name) => !isJsonObject(answer) || !Object.hasOwn(answer, name))
}

/** Words that only JSON Schema has, and lists of nothing. They say nothing about the form. */
function comparable(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(comparable)
  if (!isJsonObject(value)) return value
  const left = new Set(['$schema', '$id', '$comment', '$defs'])
  const isEmpty = (name: string, inner: JsonValue) => name === 'required' && Array.isArray(inner) && inner.length === 0
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !left.has(name) && !isEmpty(name, inner))
      .map(([name, inner]) => [name, comparable(inner)]),
  )
}

/** Translates a component back into the words of JSON Schema. */
function toPublished(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(toPublished)
  if (!isJsonObject(value)) return value
  const { nullable, enum: words, ...rest } = value
  if (nullable === true && Array.isArray(words) && words[0] === null) return { type: 'null' }
  const alternatives = rest['anyOf'] as readonly JsonObject[] | undefined
  if (alternatives?.every((each) => each['nullable'] === true && Object.keys(each).length === 2) === true) {
    const { anyOf: _any, ...others } = rest
    return { ...others, type: [...alternatives.map((each) => each['type'] ?? null), 'null'] }
  }
  const entries = Object.entries({ ...rest, ...(words === undefined ? {} : { enum: words }) })
  const named = entries.map(([name, inner]): [string, JsonValue] => {
    if (name === 'format' && inner === 'byte') return ['contentEncoding', 'base64']
    if (name === '$ref') return [name, String(inner).replace('#/components/schemas/', '#/$defs/')]
    if (name === 'type' && nullable === true) return [name, [inner, 'null']]
    return [name, toPublished(inner)]
  })
  return Object.fromEntries(named)
}
