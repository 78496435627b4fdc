import { AUTHORITY_SERVICE_ROUTE, GATEWAY_OPERATIONS, GATEWAY_ROUTES, OPERATOR_HEADERS } from '@chancery/contract'
import type { GatewayOperation, GatewayRoute } from '@chancery/contract'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'

function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

const TEXT: JsonObject = { type: 'string', minLength: 1, maxLength: 256 }
const TIME: JsonObject = { type: 'string', format: 'date-time' }
const TEXTS: JsonObject = { type: 'array', items: { type: 'string' } }

/** Schemas of protocol/gateway 11, with the limits of 2.5. */
const SCHEMAS: JsonObject = {
  Signature: {
    type: 'object',
    required: ['key_id', 'sig'],
    additionalProperties: false,
    properties: { key_id: TEXT, sig: { type: 'string', minLength: 88, maxLength: 88 } },
  },
  JoinCertificate: {
    type: 'object',
    required: ['cert_id', 'node_public_key', 'network_name', 'issued_at', 'expires_at', 'issued_by'],
    additionalProperties: false,
    properties: {
      cert_id: TEXT,
      node_public_key: { type: 'string', minLength: 44, maxLength: 44 },
      network_name: TEXT,
      roles: { type: 'array', maxItems: 32, default: [], items: { type: 'string', maxLength: 128 } },
      issued_at: TIME,
      expires_at: TIME,
      issued_by: TEXT,
      signatures: { type: 'array', maxItems: 8, default: [], items: ref('Signature') },
    },
  },
  Decision: {
    type: 'object',
    description: 'A 200 does not mean trust; `trusted` does.',
    required: ['trusted', 'reasons', 'findings', 'evaluation'],
    properties: {
      trusted: { type: 'boolean' },
      reasons: TEXTS,
      findings: {
        type: 'array',
        items: { type: 'object', required: ['code'], properties: { code: { type: 'string' } } },
      },
      evaluation: {
        type: 'object',
        properties: {
          evaluated_at: TIME,
          policy_revision: { type: 'string' },
          network: { type: 'string' },
          issuer: { type: ['string', 'null'] },
          crl_sequence: { type: ['integer', 'null'] },
          crl_next_update: { type: ['string', 'null'] },
          recheck_after: TIME,
        },
      },
    },
  },
  Error: {
    description: 'A refusal of the gateway. `error` is an object in a response of the authority.',
    type: 'object',
    required: ['error'],
    properties: {
      error: { type: ['string', 'object'] },
      code: { type: 'string' },
      reason: { type: 'string' },
      request_id: { type: 'string' },
      details: { type: 'object' },
      outcome_uncertain: { type: 'boolean' },
    },
  },
}

const VERIFY_BODY: JsonObject = {
  schema: {
    type: 'object',
    required: ['certificate'],
    additionalProperties: false,
    properties: { certificate: ref('JoinCertificate') },
  },
}

const BATCH_BODY: JsonObject = {
  schema: {
    type: 'object',
    required: ['certificates'],
    additionalProperties: false,
    properties: { certificates: { type: 'array', minItems: 1, items: ref('JoinCertificate') } },
  },
}

const BEARER: readonly JsonObject[] = [{ bearer: [] }]

/**
 * GET /openapi.json
 * Returns OpenAPI 3.1 of the routes and the catalogue, made from the tables that the server binds (protocol/gateway
 * 11).
 */
export function openapi(version: string): HttpResponse {
  return jsonText(describe(version))
}

// Written once: it depends on the release only.
let written: { readonly version: string; readonly text: string } | undefined

function describe(version: string): string {
  if (written?.version !== version) written = { version, text: writeJson(toDocument(version)) }
  return written.text
}

function toDocument(version: string): JsonObject {
  return {
    openapi: '3.1.0',
    info: { title: 'Chancery trust gateway', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths: { ...gatewayPaths(), ...operationPaths() },
    components: {
      schemas: SCHEMAS,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** Describes every route of the gateway except the proxied one, which has one entry per operation. */
function gatewayPaths(): JsonObject {
  const routes = Object.entries<GatewayRoute>(GATEWAY_ROUTES).filter(([, { path }]) => path !== AUTHORITY_SERVICE_ROUTE)
  return Object.fromEntries(
    routes.map(([name, route]) => [route.path, { [route.method.toLowerCase()]: toGatewayRoute(name, route) }]),
  )
}

const QUESTION_BODY: JsonObject = { schema: { type: 'object' } }
const BODIES: Readonly<Record<string, JsonObject>> = {
  verify: VERIFY_BODY,
  verifyBatch: BATCH_BODY,
  accessEvaluation: QUESTION_BODY,
  accessEvaluations: QUESTION_BODY,
}
const RESPONSES: Readonly<Record<string, JsonObject>> = {
  verify: { 'application/json': { schema: ref('Decision') } },
  verifyBatch: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['results'],
        properties: { results: { type: 'array', items: ref('Decision') } },
      },
    },
  },
  metrics: { 'text/plain': { schema: { type: 'string' } } },
  home: { 'text/html': { schema: { type: 'string' } } },
  asset: Object.fromEntries(
    ['text/javascript', 'text/css', 'image/svg+xml'].map((type) => [type, { schema: { type: 'string' } }]),
  ),
}
const ANY_OBJECT: JsonObject = { 'application/json': { schema: { type: 'object' } } }

function toGatewayRoute(name: string, route: GatewayRoute): JsonObject {
  const body = BODIES[name]
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => {
    return { name: parameter, in: 'path', required: true, schema: { type: 'string' } }
  })
  return {
    operationId: `gateway-${name}`,
    summary: route.purpose,
    tags: ['gateway'],
    security: route.credential === 'none' ? [] : BEARER,
    ...(inPath.length === 0 ? {} : { parameters: inPath }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: { 'application/json': body } } }),
    responses: toResponses(RESPONSES[name] ?? ANY_OBJECT),
  }
}

function operationPaths(): JsonObject {
  return Object.fromEntries(
    GATEWAY_OPERATIONS.map((operation) => [
      AUTHORITY_SERVICE_ROUTE.replace('{operation}', operation.id),
      { [operation.method.toLowerCase()]: toProxied(operation) },
    ]),
  )
}

function toProxied(operation: GatewayOperation): JsonObject {
  const { id, group, name, description, admin, tier, body, response, upstream_path, method } = operation
  const type = response === 'ndjson' ? 'application/x-ndjson' : 'application/json'
  return {
    operationId: id,
    summary: name,
    description: `${description} Forwarded to ${method} ${upstream_path} of the authority.`,
    tags: [group],
    security: BEARER,
    parameters: toParameters(operation),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { type: 'object' }, example: body } },
          },
        }),
    responses: toResponses({ [type]: { schema: response === 'ndjson' ? { type: 'string' } : { type: 'object' } } }),
    'x-chancery-admin': admin,
    'x-chancery-tier': tier,
  }
}

/** Path parameters of the authority are query parameters here. The gateway puts them into the path. */
function toParameters({ parameters, query, admin }: GatewayOperation): readonly JsonObject[] {
  const schema = { type: 'string', maxLength: 2048 }
  return [
    { name: 'network', in: 'path', required: true, schema: { type: 'string' } },
    ...parameters.map((name) => ({ name, in: 'query', required: true, schema })),
    ...query.map((name) => ({ name, in: 'query', required: false, schema })),
    ...(admin ? Object.values(OPERATOR_HEADERS) : []).map((name) => ({
      name,
      in: 'header',
      required: true,
      schema: { type: 'string', maxLength: 512 },
    })),
  ]
}

function toResponses(content: JsonObject): JsonObject {
  return {
    '2XX': { description: 'Success.', content },
    default: { description: 'Refused.', content: { 'application/json': { schema: ref('Error') } } },
  }
}
