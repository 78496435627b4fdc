import {
  API_VERSION,
  CONTENT_TYPES,
  ERRORS,
  OPERATOR_HEADERS,
  SECURITY_SCHEMES,
  authHint,
  rateLimitText,
  surfaceAccess,
  surfaceGroup,
} from '@chancery/contract'
import type { ErrorCode, Route } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { baseUrl } from '../../requests/base-url.ts'
import type { ReferenceParts } from './parts.ts'

/**
 * GET /swagger.json
 * Returns OpenAPI 3.0.3 of the served routes, from the table that the server uses (protocol/core 22.4).
 */
export function swagger(call: Call, parts: ReferenceParts): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of parts.listRoutes()) {
    const item = (paths[route.path] ??= {})
    item[route.method.toLowerCase()] = toOperation(route, parts)
  }
  return {
    openapi: '3.0.3',
    info: { title: `${parts.network.name} network authority`, version: API_VERSION },
    servers: [{ url: baseUrl(call, parts) }],
    paths,
    components: { securitySchemes: securitySchemes(), schemas: { ErrorEnvelope: ERROR_ENVELOPE } },
  }
}

function toOperation(route: Route, parts: ReferenceParts): JsonObject {
  const limit = rateLimitText(route.limit, (limiter) => parts.limits.perMinute[limiter])
  const scheme = schemeOf(route)
  return {
    operationId: route.id,
    summary: route.summary,
    description: route.purpose,
    tags: [surfaceGroup(route.access)],
    parameters: parametersOf(route),
    responses: {
      [String(route.success)]: { description: 'Success.', content: successContent(route) },
      ...errorResponses(route),
      default: { description: 'Refused.', content: ERROR_CONTENT },
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
  const parameter = (name: string, place: string, required: boolean): JsonObject => ({
    name,
    in: place,
    required,
    schema: { type: 'string' },
  })
  const signed = route.access.includes('operator:')
  return [
    ...route.params.map((name) => parameter(name, 'path', true)),
    ...(route.gateway?.query ?? []).map((name) => parameter(name, 'query', false)),
    ...(signed ? Object.values(OPERATOR_HEADERS) : []).map((name) =>
      parameter(name, 'header', route.access !== 'public-or-operator:standard'),
    ),
  ]
}

const ERROR_CONTENT: JsonObject = { 'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } } }

/** The codes that follow from access, limit and body of a route, by status. Other codes fall under `default`. */
function errorResponses(route: Route): JsonObject {
  const codes: ErrorCode[] = ['bad_request', 'internal_server_error', 'service_unavailable']
  if (route.limit !== 'none') codes.push('rate_limit_exceeded')
  if (route.method !== 'GET')
    codes.push('invalid_json', 'invalid_json_object', 'unexpected_field', 'request_entity_too_large')
  if (route.method !== 'GET') codes.push('unsupported_media_type', 'request_timeout')
  if (route.access.includes('operator:')) codes.push('admin_auth_failed', 'admin_auth_throttled')
  if (route.access === 'operator:privileged') codes.push('insufficient_operator_tier')
  if (route.access === 'node') codes.push('node_auth_failed')
  codes.push(...(Object.keys(route.statuses ?? {}) as ErrorCode[]))
  const byStatus: Record<string, ErrorCode[]> = {}
  for (const code of codes) (byStatus[String(route.statuses?.[code] ?? ERRORS[code].status)] ??= []).push(code)
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, listed]) => [
      status,
      { description: 'Refused.', content: ERROR_CONTENT, 'x-chancery-error-codes': listed },
    ]),
  )
}

function successContent({ response }: Route): JsonObject {
  if (response === 'json') return { [CONTENT_TYPES.json]: { schema: { type: 'object' } } }
  const isBinary = response === 'static' || response === 'tile'
  const type = response === 'static' ? '*/*' : CONTENT_TYPES[response]
  return { [type]: { schema: isBinary ? { type: 'string', format: 'binary' } : { type: 'string' } } }
}

function schemeOf(route: Route): keyof typeof SECURITY_SCHEMES | undefined {
  if (route.access === 'operator:standard' || route.access === 'operator:privileged') return 'OperatorSignature'
  return route.access === 'node' || route.access === 'executor' ? 'NodeProof' : undefined
}

/** Declarations only: OpenAPI has no scheme for a signature over the whole request. */
function securitySchemes(): JsonObject {
  return Object.fromEntries(
    Object.entries(SECURITY_SCHEMES).map(([name, header]) => [name, { type: 'apiKey', in: 'header', name: header }]),
  )
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
