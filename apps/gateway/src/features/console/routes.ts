import { GATEWAY_ROUTES } from '@chancery/contract'
import type { GatewayBinding } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { asset } from './asset.ts'
import { home } from './home.ts'

export const consoleRoutes: readonly GatewayBinding<Office>[] = [
  { route: GATEWAY_ROUTES.home, open: home },
  { route: GATEWAY_ROUTES.asset, open: asset },
]
