import {
  AUTHORITY_SERVICE_ROUTE,
  GATEWAY_ROUTES,
  GatewayRefusal,
  REQUEST_ID_PATTERN,
  SERVICE_CATALOG_ROUTE,
} from '@chancery/contract'
import { HttpResponse, ReadinessEvents, json } from '@chancery/service-kit'
import type { Feature } from '../../core.ts'
import { registerGauges } from './gauges.ts'
import { openapi } from './openapi.ts'
import { isReady, listReasons, observeReadiness, warningsOf } from './readiness.ts'
import type { OperationsOptions, OperationsParts } from './readiness.ts'
import { type Instant, type JsonObject, isJsonObject, writeInstant } from '@chancery/protocol'
import type { ClientCall } from '../../edge/call.ts'
import type { IssuerPolicy, NetworkPolicy } from '../../policy/policy.ts'
import { type IssuerState, type TrustSnapshot, isUsable, issuerKey } from '../../trust/snapshot.ts'

/** The newest events are searched: request ids have no index, and a search must not delay the writer. */
const SEARCHED_EVENTS = 5000

/**
 * GET /v1/audit/{request_id}
 * Returns the stored events of one request of this caller. A request of another client is not distinguishable from none.
 */
async function auditEvents({ client, params }: ClientCall, { state }: OperationsParts): Promise<HttpResponse> {
  const request_id = params['request_id'] ?? ''
  if (!REQUEST_ID_PATTERN.test(request_id)) throw new GatewayRefusal('parameter_invalid')
  const found = (await state?.findEvents(request_id, SEARCHED_EVENTS)) ?? []
  const isOwn = found.some((event) => isJsonObject(event['context']) && event['context']['client_id'] === client.id)
  const events: readonly JsonObject[] = isOwn ? found : []
  return json({ request_id, durable_audit: state !== undefined, searched_events: SEARCHED_EVENTS, events })
}

/** GET /metrics */
async function metrics(parts: OperationsParts): Promise<HttpResponse> {
  await parts.state?.measure()
  const { registry } = parts.metrics
  return new HttpResponse(await registry.render(), registry.contentType)
}

/**
 * GET /api
 * Returns what this gateway is and which of its protections are enabled.
 */
function api(parts: OperationsParts): HttpResponse {
  const { settings, state } = parts
  return json({
    service: 'chancery-gateway',
    version: parts.version,
    mode: settings.development ? 'development' : 'production',
    security_capabilities: {
      durable_crl_state: state !== undefined,
      durable_audit: state !== undefined,
      oidc: parts.access().oidc !== undefined,
      shared_quotas: settings.redisUrlFile !== undefined,
      multi_issuer_crls: true,
      mtls: parts.hasTls,
      audit_delivery: settings.auditUrl !== undefined,
      hot_reload: true,
      sticky_revocation: true,
      access_tokens: parts.trust?.current.policy.oauth !== undefined,
    },
    endpoints: Object.values(GATEWAY_ROUTES).map(({ method, path }) => `${method} ${path}`),
    authority_service_route: AUTHORITY_SERVICE_ROUTE,
    service_catalog: SERVICE_CATALOG_ROUTE,
  })
}

/**
 * GET /health
 * Returns 200 while the process runs. It calls no dependency: a failed dependency must not restart a replica.
 */
function health(): HttpResponse {
  return json({ status: 'ok' })
}

/**
 * GET /v1/networks Returns the networks of the caller and their current lists. Never digests, addresses or other
 * clients.
 */
function networks({ client, trust }: ClientCall, parts: OperationsParts): HttpResponse {
  if (trust === undefined) return json({ mode: 'development', networks: [] })
  const now = parts.clock.now()
  const own = client.networks.flatMap((name) => trust.policy.networks.get(name) ?? [])
  return json({
    policy_revision: trust.data.revision,
    client_id: client.id,
    service_groups: client.serviceGroups,
    authority_admin: client.authorityAdmin,
    credential_expires_at: client.expiresAt === undefined ? null : writeInstant(client.expiresAt),
    networks: own.map((network) => describe(network, trust, parts, now)),
  })
}

function describe(
  network: NetworkPolicy,
  trust: TrustSnapshot,
  { refreshResults }: OperationsParts,
  now: Instant,
): JsonObject {
  const { name, primary } = network
  const issuerState = issuerStateOf(trust, primary)
  const additional = network.additional.map((issuer) => issuerStateOf(trust, issuer))
  const all = [issuerState, ...additional]
  return {
    name,
    ready: isUsable(issuerState, now),
    services_configured: network.authorityUrl !== undefined,
    anchors: network.anchorTexts,
    required_roles: network.requiredRoles,
    revocation: {
      issuer: primary.issuer,
      sequence: issuerState.position.sequence,
      issued_at: writeInstant(issuerState.position.issuedAt),
      next_update: writeInstant(issuerState.position.nextUpdate),
      revoked_count: issuerState.index.listed,
    },
    additional_issuers: additional.map((each) => ({
      issuer: each.policy.issuer,
      sequence: each.position.sequence,
      next_update: writeInstant(each.position.nextUpdate),
      ready: isUsable(each, now),
      revoked_count: each.index.listed,
      suspect: each.isSuspect,
    })),
    suspect: all.some((each) => each.isSuspect),
    last_refresh: refreshResults.last(name, primary.issuer) ?? null,
    authority_public_key: network.anchorTexts[primary.issuer] ?? null,
    admin_signature_version: network.adminSignatureVersion,
  }
}

function issuerStateOf(trust: TrustSnapshot, { network, issuer }: IssuerPolicy): IssuerState {
  const issuerState = trust.issuers.get(issuerKey(network, issuer))
  if (issuerState === undefined) throw new Error('every issuer of a policy has a current list')
  return issuerState
}

/**
 * GET /ready
 * Returns 200 when the list of the home network is usable, the state is healthy, the quota backend responds and, in a
 * worker, the supervisor does. A network with a stale list refuses its own certificates at once, and is a warning here;
 * other networks are still verified, also while this route returns 503. A newer list that cannot be read is reported
 * before it makes the gateway not ready.
 */
async function ready(parts: OperationsParts): Promise<HttpResponse> {
  const checks = await observeReadiness(parts)
  const reasons = listReasons(parts)
  if (!isReady(checks) || !parts.isServing())
    throw new GatewayRefusal('not_ready', reasons.length === 0 ? { checks } : { checks, reasons })
  const warnings = warningsOf(parts)
  return json(warnings.length === 0 ? { status: 'ready' } : { status: 'ready', warnings })
}

/** Opens health, readiness, metrics and the description of this gateway. */
export function openOperations(options: OperationsOptions): Feature {
  const parts: OperationsParts = { ...options, readinessEvents: new ReadinessEvents(options.log, options.clock) }
  registerGauges(parts)
  return {
    routes: [
      { route: GATEWAY_ROUTES.health, open: health },
      { route: GATEWAY_ROUTES.ready, open: () => ready(parts) },
      { route: GATEWAY_ROUTES.api, open: () => api(parts) },
      { route: GATEWAY_ROUTES.openapi, open: () => openapi(parts.version) },
      { route: GATEWAY_ROUTES.networks, client: (call) => networks(call, parts) },
      { route: GATEWAY_ROUTES.auditEvents, client: (call) => auditEvents(call, parts) },
      { route: GATEWAY_ROUTES.metrics, client: () => metrics(parts) },
    ],
    jobs: [
      // Logs a loss of readiness when it happens, not only when a caller requests /ready.
      { name: 'readiness', everySeconds: 5, run: async () => void (await observeReadiness(parts)) },
    ],
    close: async () => undefined,
  }
}
