import { health as routes } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { health } from './health.ts'
import { healthz } from './healthz.ts'
import { metrics } from './metrics.ts'
import { readyz, readyzInBrief } from './readyz.ts'
import type { Feature } from '../../core.ts'
import { type Binding, ReadinessEvents, SharedRead } from '@chancery/service-kit'
import { DatabaseProbe } from './database-probe.ts'
import { checkRecords } from './check-records.job.ts'
import { registerGauges } from './gauges.ts'
import { HealthCheck } from './health-check.job.ts'
import type { HealthParts } from './parts.ts'
import { cacheDocuments } from './public-reads.ts'
import { type Readiness, checkReadiness } from './readiness.ts'
import { HealthReports } from './report.ts'
import type { HealthState } from './state.ts'

export { CONDITIONS } from './conditions.ts'
export { SLOW_READ_SECONDS } from './database-probe.ts'

export interface Health extends Feature {
  /** Routes of the public listener when a management listener serves the others. */
  readonly briefRoutes: readonly Binding[]
  readonly readiness: SharedRead<Readiness>
  readonly databaseProbe: DatabaseProbe
  /** The content of GET /health. */
  readonly reports: HealthReports
  registerGauges(): void
}

export function openHealth(parts: HealthParts): Health {
  const databaseProbe = new DatabaseProbe(parts)
  const events = new ReadinessEvents(parts.log, parts.clock)
  const readiness = new SharedRead(async () => {
    const found = await checkReadiness(parts, databaseProbe)
    events.see(found.reasons)
    return found
  })
  const own: HealthState = {
    ...parts,
    readiness,
    databaseProbe,
    reports: new HealthReports({ ...parts, readiness }),
    metricsText: new SharedRead(() => parts.metrics.registry.render()),
  }
  const healthCheck = new HealthCheck()
  return {
    routes: [
      bind(routes.healthz, healthz),
      bind(routes.readyz, (call) => readyz(call, own)),
      bind(routes.health, (call) => health(call, own)),
      bind(routes.metrics, (call) => metrics(call, own)),
    ],
    briefRoutes: [
      bind(routes.healthz, healthz),
      bind(routes.readyz, (call) => readyzInBrief(call, own)),
      bind(routes.health, (call) => health(call, own)),
    ],
    jobs: [
      // At the start, so that an edited row is reported before it is requested.
      { name: 'record-check', everySeconds: 60, run: () => checkRecords(own) },
      { name: 'cache-documents', everySeconds: 30, run: () => cacheDocuments(own) },
      // Without this job a loss would be reported only on request.
      { name: 'readiness', everySeconds: 5, run: async () => void (await readiness.read()) },
      { name: 'health-check', everySeconds: 30, run: () => healthCheck.run(own) },
    ],
    readiness,
    databaseProbe,
    reports: own.reports,
    registerGauges: () => registerGauges(own),
    close: () => Promise.resolve(),
  }
}
