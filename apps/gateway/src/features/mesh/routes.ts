import { GATEWAY_ROUTES } from '@chancery/contract'
import type { GatewayBinding } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { mesh } from './mesh.ts'

export const meshRoutes: readonly GatewayBinding<Office>[] = [{ route: GATEWAY_ROUTES.mesh, open: mesh }]
