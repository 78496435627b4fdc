import type { SharedRead } from '@chancery/service-kit'
import type { DatabaseProbe } from './database-probe.ts'
import type { Readiness } from './readiness.ts'
import type { HealthReports } from './report.ts'
import type { HealthParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface HealthState extends HealthParts {
  /** Shared by concurrent callers, because each result costs a write. */
  readonly readiness: SharedRead<Readiness>
  readonly databaseProbe: DatabaseProbe
  /** Why this authority is not healthy. */
  readonly reports: HealthReports
  readonly metricsText: SharedRead<string>
}
