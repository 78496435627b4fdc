import { DAY } from '@chancery/protocol'
import type { Job } from '@chancery/service-kit'
import { LARGE_LIST_PART } from './doctor/check-state.ts'
import { watchReadiness } from './features/operations/readiness.ts'
import type { Office } from './office.ts'
import { operatorEvent } from './trust/trust-book.ts'

const WARNING_PART = 0.7
const ERROR_PART = 0.85
const TOLD_EVERY_MS = 86_400_000

/** The gateway's background work besides refreshing lists and delivering audit events. */
export function gatewayJobs(office: Office): readonly Job[] {
  const { state, settings } = office
  // Without it a loss would be told only when somebody asks.
  const readiness: Job = { name: 'readiness', everySeconds: 5, run: async () => void (await watchReadiness(office)) }
  const sizes = new ListSizes()
  const jobs: Job[] = [readiness, { name: 'list-sizes', everySeconds: 60, run: async () => sizes.tell(office) }]
  if (state !== undefined) {
    jobs.push(
      { name: 'refused-requests', everySeconds: 60, run: () => office.trail.flush() },
      { name: 'state-capacity', everySeconds: 60, run: () => watchCapacity(office, state) },
    )
    if (settings.auditRetentionDays > 0) {
      jobs.push({ name: 'audit-retention', everySeconds: 3600, run: (signal) => prune(office, state, signal) })
    }
  }
  if (settings.development)
    jobs.push({ name: 'development', everySeconds: 60, run: async () => warnDevelopment(office) })
  return jobs
}

/** Tells of lists that grow towards the bound of this reader: when they pass half of it, and once a day. */
class ListSizes {
  readonly #toldMs = new Map<string, number>()

  tell({ book, clock, log, settings }: Office): void {
    for (const [key, { policy, body }] of book?.current.standings ?? []) {
      const nowMs = clock.monotonicMs()
      const isTold = nowMs - (this.#toldMs.get(key) ?? -Infinity) < TOLD_EVERY_MS
      if (body.length < settings.maxListBytes * LARGE_LIST_PART) this.#toldMs.delete(key)
      else if (!isTold) {
        this.#toldMs.set(key, nowMs)
        const { network, issuer } = policy
        const fields = { network, issuer, bytes: body.length, max_bytes: settings.maxListBytes }
        log.warn('a revocation list is growing towards GATEWAY_MAX_LIST_BYTES: raise it', fields)
      }
    }
  }
}

type State = NonNullable<Office['state']>

async function watchCapacity({ log, settings }: Office, state: State): Promise<void> {
  const { usedBytes } = await state.measure()
  const part = usedBytes / settings.stateMaxBytes
  const fields = { used_bytes: usedBytes, capacity_bytes: settings.stateMaxBytes }
  if (part >= ERROR_PART) log.error('state is nearly full', { alarm: true, ...fields })
  else if (part >= WARNING_PART) log.warn('state is filling', fields)
}

async function prune(office: Office, state: State, signal: AbortSignal): Promise<void> {
  const before = office.clock.now() - BigInt(office.settings.auditRetentionDays) * DAY
  for (;;) {
    const removed = await state.prune(before, operatorEvent('audit_pruned', {}, office))
    if (removed === 0 || signal.aborted) return
  }
}

function warnDevelopment({ log }: Office): void {
  log.warn('development mode: callers bring their own trust material')
}
