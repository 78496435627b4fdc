import { writeSortable } from '@chancery/protocol'
import { sleep } from '@chancery/service-kit'
import { LeaseLostError, extendLease, withLease } from '../../database/locks/leases.ts'
import { claim, performPull } from './perform-pull.ts'
import { listDue } from './queries.ts'
import type { PartnersState } from './state.ts'

const AT_ONCE = 8
const LEASE_SECONDS = 30
const ROUND_MS = 500
const EXTEND_MS = 10_000
/** A run starts pulls for so long. The next one follows at once. */
const RUN_MS = 60_000

/** One instance pulls the partners that are due, at most 8 at a time. */
export async function pullDue(parts: PartnersState, stopping: AbortSignal): Promise<void> {
  if (!parts.settings.partners) return
  await withLease(parts, 'partner-pull', LEASE_SECONDS, async (lease) => {
    const lost = new AbortController()
    const signal = AbortSignal.any([stopping, lost.signal])
    const running = new Set<Promise<void>>()
    const started = parts.clock.monotonicMs()
    let extended = started
    for (;;) {
      // After an abort the pause below ends at once. The pulls end by the same signal.
      if (signal.aborted) {
        await Promise.all(running)
        return
      }
      const now = parts.clock.monotonicMs()
      const isOpen = now - started < RUN_MS
      const due = isOpen ? await startDue(parts, AT_ONCE - running.size, running, signal) : 0
      if (running.size === 0 && due === 0) return
      if (now - extended > EXTEND_MS) {
        extended = now
        await extendLease(parts, lease, LEASE_SECONDS).catch((error: unknown) => {
          lost.abort()
          if (!(error instanceof LeaseLostError)) throw error
        })
      }
      await Promise.race([...running, sleep(ROUND_MS, signal)])
    }
  })
}

async function startDue(
  parts: PartnersState,
  free: number,
  running: Set<Promise<void>>,
  signal: AbortSignal,
): Promise<number> {
  if (free <= 0) return 0
  const due = await listDue(parts.database.read, writeSortable(parts.clock.now()), free)
  for (const sovereign_id of due) {
    const claimed = await claim(parts, sovereign_id, false)
    if (claimed === undefined) continue
    const pull = performPull(parts, claimed, signal)
      .then(() => undefined)
      .catch((error: unknown) => parts.log.warn('a partner could not be pulled', { sovereign_id, error }))
      .finally(() => running.delete(pull))
    running.add(pull)
  }
  return due.length
}
