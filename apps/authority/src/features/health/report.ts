import { SharedRead } from '@chancery/service-kit'
import { CONDITIONS, type Condition, type Readiness } from './conditions.ts'
import { type DatabaseProbe, inTime } from './database-probe.ts'
import type { HealthParts } from './parts.ts'
import { STATES, countKeyChanges, countReportedTreaties, countStates } from '../partners/index.ts'
import { findSetProblems } from '@chancery/protocol'
import { keyWindow } from '../../signing/key-window.ts'
import { LARGE_PART, SHRINK_LIST, findActiveVersion, partOfBound } from '../crl/index.ts'

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

/** The parts of the feature and its own state. */
export interface HealthState extends HealthParts {
  /** Shared by concurrent callers, because each result costs a write. */
  readonly readiness: SharedRead<Readiness>
  readonly databaseProbe: DatabaseProbe
  /** Why this authority is not healthy. */
  readonly reports: HealthReports
  readonly metricsText: SharedRead<string>
}

/** States of the partners. No label names a sovereign. */
export function registerPartnerGauges({ metrics: { registry }, database, clock }: HealthState): void {
  const counts = new SharedRead(() => countStates(database.read, clock.now()))
  registry.rows({
    name: 'chancery_partners',
    help: 'Partners by state.',
    kind: 'gauge',
    labels: ['state'],
    collect: async () => {
      const { states } = await counts.read()
      return STATES.map((state) => ({ labels: { state }, value: states[state] }))
    },
  })
  registry.gauge({
    name: 'chancery_partner_oldest_good_pull_seconds',
    help: 'Time since the last good pull of the partner that was not read for the longest time.',
    collect: async () => (await counts.read()).oldestGoodPullSeconds ?? Number.NaN,
  })
  registry.gauge({
    name: 'chancery_partner_alarms',
    help: 'Alarms of partners that are not cleared.',
    collect: async () => (await counts.read()).alarms,
  })
  registry.gauge({
    name: 'chancery_partner_key_changes',
    help: 'Partners whose authority key changed in the last 7 days.',
    collect: () => countKeyChanges(database.read, clock.now()),
  })
  registry.gauge({
    name: 'chancery_reported_edges',
    help: 'Stored treaties that partners report.',
    collect: () => countReportedTreaties(database.read),
  })
}

/** Days before the end of the key window at which it is logged. The last one is logged as an alarm. */
const KEY_STAGES = [1, 7, 30] as const
const LOG_EVERY_MS = 86_400_000

/** Logs what no request shows: the end of the key window, the state of policies and the overall health. */
export class HealthCheck {
  #key: { readonly stage: number; readonly toldMs: number } | undefined
  #listLoggedMs: number | undefined
  #problems = ''
  #reasons = ''

  async run(parts: HealthState): Promise<void> {
    this.#reportKeyWindow(parts)
    await this.#reportListSize(parts)
    await this.#reportPolicies(parts)
    await this.#reportHealth(parts)
  }

  /** Logged when a stage is reached, at the start of a process, and once a day. */
  #reportKeyWindow({ network, clock, log }: HealthParts): void {
    const { valid_to, expires_in_seconds, days_left } = keyWindow({ network, clock })
    const stage = expires_in_seconds <= 0 ? 0 : KEY_STAGES.find((days) => expires_in_seconds <= days * 86_400)
    if (stage === undefined) {
      this.#key = undefined
      return
    }
    const nowMs = clock.monotonicMs()
    const isLogged = this.#key?.stage === stage && nowMs - this.#key.toldMs < LOG_EVERY_MS
    if (isLogged) return
    this.#key = { stage, toldMs: nowMs }
    const fields = { valid_to, days_left }
    if (stage === 0)
      log.error('the key window of the genesis block is over: chancery genesis succeed', { alarm: true, ...fields })
    else if (stage === 1)
      log.error('the key window of the genesis block ends within a day: chancery genesis succeed', {
        alarm: true,
        ...fields,
      })
    else log.warn('the key window of the genesis block is ending: chancery genesis succeed', fields)
  }

  /** Logged when the list exceeds half of its readers' limit, at the start of a process, and once a day. */
  async #reportListSize({ database, settings, clock, log }: HealthParts): Promise<void> {
    const active = await findActiveVersion(database.read)
    const part = partOfBound(active, settings) ?? 0
    if (part < LARGE_PART) {
      this.#listLoggedMs = undefined
      return
    }
    const nowMs = clock.monotonicMs()
    if (this.#listLoggedMs !== undefined && nowMs - this.#listLoggedMs < LOG_EVERY_MS) return
    this.#listLoggedMs = nowMs
    const fields = {
      bytes: active?.bytes,
      entries: active?.entries,
      max_bytes: settings.listReaderBytes,
      fix: SHRINK_LIST,
    }
    if (part >= 1)
      log.error('the revocation list is larger than its readers accept: revocations do not reach them', {
        alarm: true,
        ...fields,
      })
    else log.warn('the revocation list is near the size limit of its readers', fields)
  }

  async #reportPolicies({ boundaryPolicies, clock, log }: HealthParts): Promise<void> {
    const found = findSetProblems(await boundaryPolicies.active.read(), clock.now())
    const problems = found.map(({ policy, reason }) => `${policy} ${reason}`).join(', ')
    if (problems === this.#problems) return
    if (problems === '') log.info('the active boundary policies are healthy again')
    else log.error('the active boundary policies are unhealthy: decisions are denied', { alarm: true, problems })
    this.#problems = problems
  }

  async #reportHealth({ reports, log }: HealthState): Promise<void> {
    const { status, reasons } = await reports.read()
    const logged = reasons.join(', ')
    if (logged === this.#reasons) return
    if (status === 'healthy') log.info('the authority is healthy again')
    else log.warn('the authority is not healthy', { status, reasons: logged })
    this.#reasons = logged
  }
}
