import { LIMITS } from '@chancery/contract'
import { type Finding, SharedRead, runCheck } from '@chancery/service-kit'
import { CONDITIONS } from './conditions.ts'
import { type DatabaseProbe, TIME_LIMIT_MS } from './database-probe.ts'
import type { HealthParts, Readiness } from './readiness.ts'
import { STATES, countKeyChanges, countReportedTreaties, countStates } from '../partners/index.ts'
import { findSetProblems } from '@chancery/protocol'
import { keyWindow } from '../../signing/halt-reasons.ts'
import { LARGE_PART, SHRINK_LIST, findActiveVersion, partOfBound } from '../crl/index.ts'

export interface HealthReport {
  readonly status: 'healthy' | 'degraded' | 'unhealthy'
  /** Codes, the most serious first. */
  readonly reasons: readonly string[]
  /** Of the reasons that no check of the network reports with more facts. */
  readonly findings: readonly Finding[]
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
  const running = { ...parts, ready: await parts.readiness.read() }
  let isUnknown = false
  const found = await Promise.all(
    CONDITIONS.map((condition) =>
      runCheck(condition, running, TIME_LIMIT_MS, (error) => {
        // A check that could not run has failed. The log names it.
        parts.log.warn('a health check failed to run', { condition: condition.name, error })
        isUnknown = true
        return false
      }),
    ),
  )
  const held = CONDITIONS.filter((_condition, index) => found[index])
  const codes = held.map(({ name }) => name)
  const reasons = isUnknown && !codes.includes('not_ready') ? ['not_ready', ...codes] : codes
  const isUnhealthy = isUnknown || held.some(({ status }) => status === 'unhealthy')
  return {
    status: isUnhealthy ? 'unhealthy' : reasons.length > 0 ? 'degraded' : 'healthy',
    reasons,
    findings: held.flatMap(({ words }) => words ?? []),
  }
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
  registry.readGauges({
    chancery_partner_oldest_good_pull_seconds: [
      'Time since the last good pull of the partner that was not read for the longest time.',
      async () => (await counts.read()).oldestGoodPullSeconds,
    ],
    chancery_partner_alarms: ['Alarms of partners that are not cleared.', async () => (await counts.read()).alarms],
    chancery_partner_key_changes: [
      'Partners whose authority key changed in the last 7 days.',
      () => countKeyChanges(database.read, clock.now()),
    ],
    chancery_reported_edges: ['Stored treaties that partners report.', () => countReportedTreaties(database.read)],
  })
}

/** Days before the end of the key window at which it is logged. The last one is logged as an alarm. */
const KEY_STAGES = [1, 7, 30] as const
const LOG_EVERY_MS = 86_400_000

/** Logged when a stage is reached, at the start of a process, and once a day. */
class Daily {
  #last: { readonly stage: number; readonly atMs: number } | undefined

  isDue(stage: number | undefined, nowMs: number): stage is number {
    const last = this.#last
    const isLogged = last !== undefined && last.stage === stage && nowMs - last.atMs < LOG_EVERY_MS
    if (!isLogged) this.#last = stage === undefined ? undefined : { stage, atMs: nowMs }
    return !isLogged && stage !== undefined
  }
}

/** Logs what no request shows: the end of the key window, the state of policies and the overall health. */
export class HealthCheck {
  readonly #key = new Daily()
  readonly #list = new Daily()
  #problems = ''
  #reasons = ''

  async run(parts: HealthState): Promise<void> {
    this.#reportKeyWindow(parts)
    await this.#reportListSize(parts)
    await this.#reportPolicies(parts)
    await this.#reportHealth(parts)
  }

  #reportKeyWindow({ network, clock, log }: HealthParts): void {
    const { valid_to, expires_in_seconds, days_left } = keyWindow({ network, clock })
    const stage = expires_in_seconds <= 0 ? 0 : KEY_STAGES.find((days) => expires_in_seconds <= days * 86_400)
    if (!this.#key.isDue(stage, clock.monotonicMs())) return
    const state = stage === 0 ? 'is over' : stage === 1 ? 'ends within a day' : 'is ending'
    const event = `the key window of the genesis block ${state}: chancery genesis succeed`
    if (stage <= 1) log.error(event, { alarm: true, valid_to, days_left })
    else log.warn(event, { valid_to, days_left })
  }

  /** The list is reported from half of the limit of its readers on. */
  async #reportListSize({ database, clock, log }: HealthParts): Promise<void> {
    const active = await findActiveVersion(database.read)
    const part = partOfBound(active) ?? 0
    if (!this.#list.isDue(part < LARGE_PART ? undefined : 0, clock.monotonicMs())) return
    const { bytes, entries } = active ?? {}
    const fields = { bytes, entries, max_bytes: LIMITS.listReaderBytes, fix: SHRINK_LIST }
    if (part < 1) log.warn('the revocation list is near the size limit of its readers', fields)
    else
      log.error('the revocation list is larger than its readers accept: revocations do not reach them', {
        alarm: true,
        ...fields,
      })
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
