import {
  CONTENT_TYPES,
  ERRORS,
  EVENT_STREAM_TYPE,
  OPERATOR_HEADERS,
  authHint,
  errorCodesOf,
  isNames,
  queryNames,
  rateLimitText,
  surfaceAccess,
  surfaceGroup,
} from '@chancery/contract'
import type { ErrorCode, Route, SECURITY_SCHEMES } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { ref } from './component-schemas.ts'
import { type ExampleFacts, fillExample } from './example-body.ts'
import { answerSchema, bodySchema, formSchema } from './example-schema.ts'
import type { ReferenceParts } from './parts.ts'

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
  const { query = [] } = route
  const readers = isNames(query) ? {} : query
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
