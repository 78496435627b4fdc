import { findSetProblems } from '@chancery/protocol'
import type { HealthState } from './state.ts'
import type { HealthParts } from './parts.ts'
import { keyWindow } from '../../signing/key-window.ts'
import { LARGE_PART, SHRINK_LIST, findActiveVersion, partOfBound } from '../crl/index.ts'

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
