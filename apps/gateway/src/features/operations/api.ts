import { AUTHORITY_SERVICE_ROUTE, GATEWAY_ROUTES, SERVICE_CATALOG_ROUTE } from '@chancery/contract'
import { json } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'

/**
 * GET /api
 * What this gateway is and which of its protections are switched on.
 */
export function api(_call: GatewayCall, office: Office): Answer {
  const { settings, state } = office
  return json({
    service: 'chancery-gateway',
    version: office.version,
    mode: settings.development ? 'development' : 'production',
    security_capabilities: {
      durable_crl_state: state !== undefined,
      durable_audit: state !== undefined,
      oidc: office.access().oidc !== undefined,
      shared_quotas: settings.redisUrlFile !== undefined,
      multi_issuer_crls: true,
      mtls: office.hasTls,
      audit_delivery: settings.auditUrl !== undefined,
      hot_reload: true,
      sticky_revocation: true,
    },
    endpoints: Object.values(GATEWAY_ROUTES).map(({ method, path }) => `${method} ${path}`),
    authority_service_route: AUTHORITY_SERVICE_ROUTE,
    service_catalog: SERVICE_CATALOG_ROUTE,
  })
}
