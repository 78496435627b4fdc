import { SharedRead } from '@chancery/service-kit'
import { CONDITIONS, type Condition } from './conditions.ts'
import { inTime } from './in-time.ts'
import type { HealthParts } from './parts.ts'
import type { Readiness } from './readiness.ts'

export type HealthStatus = 'healthy' | 'degraded' | 'unhealthy'

export interface HealthReport {
  readonly status: HealthStatus
  /** Codes, the most serious first. */
  readonly reasons: readonly string[]
}

interface ReportParts extends HealthParts {
  readonly readiness: SharedRead<Readiness>
}

/** This route is public: the database is read at most once a second. */
const CACHED_MS = 1000

/** The result of `GET /health`: all checks run together, each with limited time, and are cached for a second. */
export class HealthReports {
  readonly #parts: ReportParts
  readonly #loads: SharedRead<HealthReport>
  #last: { readonly report: HealthReport; readonly atMs: number } | undefined

  constructor(parts: ReportParts) {
    this.#parts = parts
    this.#loads = new SharedRead(() => this.#load())
  }

  async read(): Promise<HealthReport> {
    const { clock } = this.#parts
    const last = this.#last
    if (last !== undefined && clock.monotonicMs() - last.atMs < CACHED_MS) return last.report
    return this.#loads.read()
  }

  async #load(): Promise<HealthReport> {
    const report = await findReasons(this.#parts)
    this.#last = { report, atMs: this.#parts.clock.monotonicMs() }
    return report
  }
}

async function findReasons(parts: ReportParts): Promise<HealthReport> {
  const readiness = await parts.readiness.read()
  const found = await Promise.all(
    CONDITIONS.map(async (condition): Promise<Condition | 'unknown' | undefined> => {
      try {
        const holds = await inTime(Promise.resolve(condition.holds(parts, readiness)))
        return holds ? condition : undefined
      } catch (error) {
        // A check that could not run has failed. The log names it.
        parts.log.warn('a health check failed to run', { condition: condition.code, error })
        return 'unknown'
      }
    }),
  )
  const stored = found.filter((each) => each !== undefined && each !== 'unknown')
  const isUnknown = found.includes('unknown')
  const codes = stored.map(({ code }) => code)
  const reasons = isUnknown && !codes.includes('not_ready') ? ['not_ready', ...codes] : codes
  const isUnhealthy = isUnknown || stored.some(({ status }) => status === 'unhealthy')
  return { status: isUnhealthy ? 'unhealthy' : reasons.length > 0 ? 'degraded' : 'healthy', reasons }
}
