import { API_VERSION, SECURITY_SCHEMES, authHint, rateLimitText, surfaceAccess, surfaceGroup } from '@chancery/contract'
import type { Route } from '@chancery/contract'
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
    parameters: route.params.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    responses: {
      [String(route.success)]: { description: 'Success.' },
      default: {
        description: 'Refused.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } } },
      },
    },
    ...(scheme === undefined ? {} : { security: [{ [scheme]: [] }] }),
    'x-chancery-access': surfaceAccess(route.access),
    'x-chancery-auth-hint': authHint(route.access),
    'x-chancery-stability': route.stability,
    ...(limit === null ? {} : { 'x-chancery-rate-limit': limit }),
  }
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
