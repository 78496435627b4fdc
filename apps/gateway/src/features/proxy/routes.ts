import { GATEWAY_ROUTES } from '@chancery/contract'
import type { GatewayBinding } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { forward } from './forward.ts'
import { services } from './services.ts'

export const proxyRoutes: readonly GatewayBinding<Office>[] = [
  { route: GATEWAY_ROUTES.services, open: services },
  { route: GATEWAY_ROUTES.forwardRead, client: forward },
  { route: GATEWAY_ROUTES.forwardWrite, client: forward },
  { route: GATEWAY_ROUTES.forwardDelete, client: forward },
]
