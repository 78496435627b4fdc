import { AUTHORITY_SERVICE_ROUTE, GATEWAY_ROUTES, SERVICE_CATALOG_ROUTE } from '@chancery/contract'
import { type HttpResponse, json } from '@chancery/service-kit'
import type { OperationsParts } from './parts.ts'

/**
 * GET /api
 * Returns what this gateway is and which of its protections are enabled.
 */
export function api(parts: OperationsParts): HttpResponse {
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
    },
    endpoints: Object.values(GATEWAY_ROUTES).map(({ method, path }) => `${method} ${path}`),
    authority_service_route: AUTHORITY_SERVICE_ROUTE,
    service_catalog: SERVICE_CATALOG_ROUTE,
  })
}
