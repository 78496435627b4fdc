import type { JsonObject } from '@chancery/protocol'
import type { GatewayFacts, GatewayGroup, Method, Route } from '../route.ts'
import { ALL_ROUTES } from '../routes/index.ts'

/** One reviewed operation of an authority that the gateway forwards; members keep their wire names (protocol/gateway 11). */
export interface GatewayOperation {
  readonly id: string
  readonly group: GatewayGroup
  readonly name: string
  readonly description: string
  readonly method: Method
  readonly upstream_path: string
  /** Needs the four operator headers. */
  readonly admin: boolean
  readonly tier: 'standard' | 'privileged' | null
  /** Names in the path; given to the gateway as query parameters, like those of `query`. */
  readonly parameters: readonly string[]
  readonly query: readonly string[]
  readonly body: JsonObject | null
  /** Sent twice it has the effect of once. */
  readonly idempotent: boolean
  readonly since: string
  readonly response: 'json' | 'ndjson'
  readonly max_response_bytes: number
}

/** Release of the first 59 operations. */
const FIRST_RELEASE = 'v0.57'
const JSON_BYTES = 2_097_152
const LINES_BYTES = 8_388_608

/** Repeatable in addition to reads, deletions and verifications: they store nothing, or find the stored result. */
const REPEATABLE: ReadonlySet<string> = new Set([
  'admin-revoke-certificate',
  'admin-revoke-operator-key',
  'attestations-revoke-attestation',
  'boundary_policy-validate-policy',
  'boundary_policy-activate-policy',
  'boundary_policy-deactivate-policy',
  'evidence_store-submit-execution',
  'evidence_store-retire-executor-key',
  'evidence_store-create-anchor',
  'treaties-revoke-treaty',
])

function toOperation(route: Route, facts: GatewayFacts): GatewayOperation {
  const isAdmin = route.access.startsWith('operator:') || facts.signed === true
  const isLines = route.response === 'json-lines'
  return {
    id: facts.operation,
    group: facts.group,
    name: route.summary,
    description: route.purpose,
    method: route.method,
    upstream_path: route.path,
    admin: isAdmin,
    tier: isAdmin ? (route.access === 'operator:privileged' ? 'privileged' : 'standard') : null,
    parameters: route.params,
    query: facts.query ?? [],
    body: route.method === 'GET' ? null : (route.body?.example ?? null),
    idempotent: route.method !== 'POST' || route.limit === 'verify' || REPEATABLE.has(facts.operation),
    since: facts.since ?? FIRST_RELEASE,
    response: isLines ? 'ndjson' : 'json',
    max_response_bytes: facts.maxResponseBytes ?? (isLines ? LINES_BYTES : JSON_BYTES),
  }
}

/** The catalogue, by id. Never discovered at run time: it is this release's table of routes. */
export const GATEWAY_OPERATIONS: readonly GatewayOperation[] = ALL_ROUTES.flatMap((route) =>
  route.gateway === undefined ? [] : [toOperation(route, route.gateway)],
).toSorted((a, b) => (a.id < b.id ? -1 : 1))

const byId: ReadonlyMap<string, GatewayOperation> = new Map(GATEWAY_OPERATIONS.map((each) => [each.id, each]))

/** A map, so that `__proto__` is no operation. */
export function findOperation(id: string): GatewayOperation | undefined {
  return byId.get(id)
}
