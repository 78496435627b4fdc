import type { GatewayBinding } from './edge/call.ts'
import { consoleRoutes } from './features/console/routes.ts'
import { meshRoutes } from './features/mesh/routes.ts'
import { operationRoutes } from './features/operations/routes.ts'
import { proxyRoutes } from './features/proxy/routes.ts'
import { verifyRoutes } from './features/verify/routes.ts'
import type { Office } from './office.ts'

/** Every route this release answers. */
export const BINDINGS: readonly GatewayBinding<Office>[] = [
  ...consoleRoutes,
  ...operationRoutes,
  ...verifyRoutes,
  ...proxyRoutes,
  ...meshRoutes,
]
