import { DAY, writeInstant } from '@chancery/protocol'
import type { Job } from '@chancery/service-kit'
import { LARGE_LIST_PART } from './check-state.ts'
import type { Core } from '../core.ts'
import type { DurableState } from '../state/durable-state.ts'
import { forecast } from '../state/usage.ts'
import { operatorEvent } from '../audit/request-audit.ts'

const WARNING_PART = 0.7
const ERROR_PART = 0.85
const LOG_EVERY_MS = 86_400_000

/** Lists what the jobs use. */
export interface CoreJobParts extends Pick<Core, 'settings' | 'clock' | 'ids' | 'log' | 'trust' | 'refusals'> {
  readonly state: DurableState | undefined
}

/** Returns the jobs of the gateway, besides the list refresh and the audit delivery. */
export function coreJobs(core: CoreJobParts): readonly Job[] {
  const { state, settings } = core
  const sizes = new ListSizes()
  const jobs: Job[] = [{ name: 'list-sizes', everySeconds: 60, run: async () => sizes.report(core) }]
  if (state !== undefined) {
    jobs.push(refusedRequests(core), {
      name: 'state-capacity',
      everySeconds: 60,
      run: () => checkCapacity(core, state),
    })
    if (settings.auditRetentionDays > 0) {
      jobs.push({ name: 'audit-retention', everySeconds: 3600, run: (signal) => prune(core, state, signal) })
    }
  }
  if (settings.development) jobs.push({ name: 'development', everySeconds: 60, run: async () => warnDevelopment(core) })
  return jobs
}

/** Writes the sums of refused requests. A worker gives them to its supervisor, which writes them once a minute. */
export function refusedRequests({ refusals }: Pick<Core, 'refusals'>, everySeconds = 60): Job {
  return { name: 'refused-requests', everySeconds, run: () => refusals.flush() }
}

/** Logs lists that grow towards the size limit: when they pass half of it, and once a day. */
class ListSizes {
  readonly #toldMs = new Map<string, number>()

  report({ trust, clock, log, settings }: CoreJobParts): void {
    for (const [key, { policy, body }] of trust?.current.issuers ?? []) {
      const nowMs = clock.monotonicMs()
      const isLogged = nowMs - (this.#toldMs.get(key) ?? -Infinity) < LOG_EVERY_MS
      if (body.length < settings.maxListBytes * LARGE_LIST_PART) this.#toldMs.delete(key)
      else if (!isLogged) {
        this.#toldMs.set(key, nowMs)
        const { network, issuer } = policy
        const fields = { network, issuer, bytes: body.length, max_bytes: settings.maxListBytes }
        log.warn('a revocation list is growing towards GATEWAY_MAX_LIST_BYTES: raise it', fields)
      }
    }
  }
}

type State = DurableState

async function checkCapacity({ log, settings, clock }: CoreJobParts, state: State): Promise<void> {
  const usage = await state.measure()
  const { usedBytes } = usage
  const part = usedBytes / settings.stateMaxBytes
  const { fullAt } = forecast(usage, settings, clock.now())
  const full_at = fullAt === undefined ? undefined : writeInstant(fullAt)
  const fields = { used_bytes: usedBytes, capacity_bytes: settings.stateMaxBytes, full_at }
  if (part >= ERROR_PART) log.error('state is nearly full', { alarm: true, ...fields })
  else if (part >= WARNING_PART) log.warn('state is filling', fields)
}

async function prune(core: CoreJobParts, state: State, signal: AbortSignal): Promise<void> {
  const before = core.clock.now() - BigInt(core.settings.auditRetentionDays) * DAY
  for (;;) {
    const { removed } = await state.prune({ before }, operatorEvent('audit_pruned', {}, core))
    if (removed === 0 || signal.aborted) return
  }
}

function warnDevelopment({ log }: CoreJobParts): void {
  log.warn('development mode: callers send their own trust inputs')
}
