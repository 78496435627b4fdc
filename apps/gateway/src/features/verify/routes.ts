import { GATEWAY_ROUTES } from '@chancery/contract'
import type { GatewayBinding } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { verifyBatch } from './batch.ts'
import { verify } from './verify.ts'

export const verifyRoutes: readonly GatewayBinding<Office>[] = [
  { route: GATEWAY_ROUTES.verify, client: verify },
  { route: GATEWAY_ROUTES.verifyBatch, client: verifyBatch },
]
