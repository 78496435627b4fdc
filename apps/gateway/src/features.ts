import type { GatewayBinding } from './edge/call.ts'
import { operationRoutes } from './features/operations/routes.ts'
import { verifyRoutes } from './features/verify/routes.ts'
import type { Office } from './office.ts'

/** Every route this release answers. */
export const BINDINGS: readonly GatewayBinding<Office>[] = [...operationRoutes, ...verifyRoutes]
