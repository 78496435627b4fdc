import { health as routes } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { health } from './health.ts'
import { healthz } from './healthz.ts'
import { metrics } from './metrics.ts'
import { readyz, readyzInBrief } from './readyz.ts'

export const healthRoutes: readonly Binding<Office>[] = [
  bind(routes.healthz, healthz),
  bind(routes.readyz, readyz),
  bind(routes.health, health),
  bind(routes.metrics, metrics),
]

/** The same where a management listener serves the ones above: nothing of the inside is told to strangers. */
export const briefHealthRoutes: readonly Binding<Office>[] = [
  bind(routes.healthz, healthz),
  bind(routes.readyz, readyzInBrief),
  bind(routes.health, health),
]
