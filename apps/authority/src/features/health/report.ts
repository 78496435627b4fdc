import { Coalesced } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { CONDITIONS } from './conditions.ts'
import type { Condition } from './conditions.ts'
import { inTime } from './in-time.ts'

export type HealthStatus = 'healthy' | 'degraded' | 'unhealthy'

export interface HealthReport {
  readonly status: HealthStatus
  /** Codes, the gravest first. */
  readonly reasons: readonly string[]
}

/** Strangers may ask as often as they like: the database is asked once a second at most. */
const KEPT_MS = 1000

/** What `GET /health` says: asked together, each in bounded time, and kept for a second. */
export class HealthReports {
  readonly #office: () => Office
  readonly #loads: Coalesced<HealthReport>
  #last: { readonly report: HealthReport; readonly atMs: number } | undefined

  constructor(office: () => Office) {
    this.#office = office
    this.#loads = new Coalesced(() => this.#load())
  }

  async read(): Promise<HealthReport> {
    const { clock } = this.#office()
    const last = this.#last
    if (last !== undefined && clock.monotonicMs() - last.atMs < KEPT_MS) return last.report
    return this.#loads.read()
  }

  async #load(): Promise<HealthReport> {
    const office = this.#office()
    const report = await findReasons(office)
    this.#last = { report, atMs: office.clock.monotonicMs() }
    return report
  }
}

async function findReasons(office: Office): Promise<HealthReport> {
  const readiness = await office.readiness.read()
  const found = await Promise.all(
    CONDITIONS.map(async (condition): Promise<Condition | 'unknown' | undefined> => {
      try {
        const holds = await inTime(Promise.resolve(condition.holds(office, readiness)))
        return holds ? condition : undefined
      } catch (error) {
        // A check that could not run has failed; which one it was is for the log.
        office.log.warn('a condition of health could not be asked', { condition: condition.code, error })
        return 'unknown'
      }
    }),
  )
  const held = found.filter((each) => each !== undefined && each !== 'unknown')
  const isUnknown = found.includes('unknown')
  const codes = held.map(({ code }) => code)
  const reasons = isUnknown && !codes.includes('not_ready') ? ['not_ready', ...codes] : codes
  const isUnhealthy = isUnknown || held.some(({ status }) => status === 'unhealthy')
  return { status: isUnhealthy ? 'unhealthy' : reasons.length > 0 ? 'degraded' : 'healthy', reasons }
}
