import { GATEWAY_ROUTES } from '@chancery/contract'
import { ReadinessEvents } from '@chancery/service-kit'
import type { Feature } from '../../core.ts'
import { api } from './api.ts'
import { auditEvents } from './audit-events.ts'
import { registerGauges } from './gauges.ts'
import { health } from './health.ts'
import { metrics } from './metrics.ts'
import { networks } from './networks.ts'
import { openapi } from './openapi.ts'
import type { OperationsOptions, OperationsParts } from './parts.ts'
import { observeReadiness } from './readiness.ts'
import { ready } from './ready.ts'

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
