import { DAY } from '@chancery/protocol'
import type { Job } from '@chancery/service-kit'
import type { Office } from './office.ts'
import { operatorEvent } from './trust/trust-book.ts'

const WARNING_PART = 0.7
const ERROR_PART = 0.85

/** The gateway's background work besides refreshing lists and delivering audit events. */
export function gatewayJobs(office: Office): readonly Job[] {
  const { state, settings } = office
  const jobs: Job[] = []
  if (state !== undefined) {
    jobs.push(
      { name: 'auth-failures', everySeconds: 60, run: () => recordFailures(office, state) },
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

type State = NonNullable<Office['state']>

/** One row per minute and route, so that strangers cannot fill the store (protocol/gateway 5.3). */
async function recordFailures(office: Office, state: State): Promise<void> {
  for (const { route, count } of office.failureTally.take()) {
    await state.append(operatorEvent('auth_failures', { route, count }, office))
  }
}

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
