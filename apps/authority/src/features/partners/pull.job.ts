import { writeSortable } from '@chancery/protocol'
import { sleep } from '@chancery/service-kit'
import { LeaseLostError, extendLease, withLease } from '../../database/locks/leases.ts'
import { claim, performPull } from './perform-pull.ts'
import { listDue } from './queries/partners.ts'
import type { PartnersState } from './state.ts'

const AT_ONCE = 8
const LEASE_SECONDS = 30
const ROUND_MS = 500
const EXTEND_MS = 10_000

/**
 * One instance pulls the partners that are due, at most 8 at a time. A run lasts while partners are due: a pull that
 * takes long uses one place, and the other places are filled meanwhile.
 */
export async function pullDue(parts: PartnersState, stopping: AbortSignal): Promise<void> {
  if (!parts.settings.partners) return
  await withLease(parts, 'partner-pull', LEASE_SECONDS, async (lease) => {
    const lost = new AbortController()
    const signal = AbortSignal.any([stopping, lost.signal])
    const running = new Set<Promise<void>>()
    let extended = parts.clock.monotonicMs()
    try {
      for (;;) {
        const now = parts.clock.monotonicMs()
        if (now - extended > EXTEND_MS) {
          extended = now
          await extendLease(parts, lease, LEASE_SECONDS)
        }
        const due = await startDue(parts, AT_ONCE - running.size, running, signal)
        if (signal.aborted || (running.size === 0 && due === 0)) break
        await Promise.race([...running, sleep(ROUND_MS, signal)])
      }
    } catch (error) {
      // Another instance pulls now, so nothing of these pulls is stored.
      lost.abort()
      if (!(error instanceof LeaseLostError)) throw error
    } finally {
      await Promise.all(running)
    }
  })
}

async function startDue(
  parts: PartnersState,
  free: number,
  running: Set<Promise<void>>,
  signal: AbortSignal,
): Promise<number> {
  if (free <= 0 || signal.aborted) return 0
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
