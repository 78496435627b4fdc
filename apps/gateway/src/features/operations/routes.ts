import { GATEWAY_ROUTES } from '@chancery/contract'
import type { GatewayBinding } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { api } from './api.ts'
import { health } from './health.ts'
import { metrics } from './metrics.ts'
import { networks } from './networks.ts'
import { openapi } from './openapi.ts'
import { ready } from './ready.ts'

export const operationRoutes: readonly GatewayBinding<Office>[] = [
  { route: GATEWAY_ROUTES.health, open: health },
  { route: GATEWAY_ROUTES.ready, open: ready },
  { route: GATEWAY_ROUTES.api, open: api },
  { route: GATEWAY_ROUTES.openapi, open: openapi },
  { route: GATEWAY_ROUTES.networks, client: networks },
  { route: GATEWAY_ROUTES.metrics, client: metrics },
]
