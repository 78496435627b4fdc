import { health as routes } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { HealthState } from './state.ts'
import { health } from './health.ts'
import { healthz } from './healthz.ts'
import { metrics } from './metrics.ts'
import { readyz, readyzInBrief } from './readyz.ts'

export function healthRoutes(parts: HealthState): readonly Binding[] {
  return [
    bind(routes.healthz, healthz),
    bind(routes.readyz, (call) => readyz(call, parts)),
    bind(routes.health, (call) => health(call, parts)),
    bind(routes.metrics, (call) => metrics(call, parts)),
  ]
}

/** Used when a management listener serves the routes above: these reveal no internal state. */
export function briefHealthRoutes(parts: HealthState): readonly Binding[] {
  return [
    bind(routes.healthz, healthz),
    bind(routes.readyz, (call) => readyzInBrief(call, parts)),
    bind(routes.health, (call) => health(call, parts)),
  ]
}
