import { health as routes } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { health } from './health.ts'
import { healthz } from './healthz.ts'
import { metrics } from './metrics.ts'
import { readyz } from './readyz.ts'

export const healthRoutes: readonly Binding<Office>[] = [
  bind(routes.healthz, healthz),
  bind(routes.readyz, readyz),
  bind(routes.health, health),
  bind(routes.metrics, metrics),
]
