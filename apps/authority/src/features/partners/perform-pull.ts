import { seconds, writeSortable } from '@chancery/protocol'
import { ImportStoppedError } from '../revocation-feeds/index.ts'
import { type Pin, pinDigest } from './stored-facts.ts'
import { type PartnerRow, claimPull, listDue, readSequences, releasePull } from './queries/partners.ts'
import { runPull } from './run-pull.ts'
import type { PartnersState } from './alarms.ts'
import { type FinishedPull, nextPull, storePull } from './store-pull.ts'
import { sleep } from '@chancery/service-kit'
import { LeaseLostError, extendLease, withLease } from '../../database/locks/leases.ts'

/** Longer than the longest pull: a claim of a process that ended is then taken over. */
const CLAIM_SECONDS = 360

/** Claims a partner for one pull. Undefined when another pull of it runs, or it is unknown. */
export function claim(parts: PartnersState, sovereign_id: string, isAsked: boolean): Promise<PartnerRow | undefined> {
  const now = parts.clock.now()
  return parts.database.write((tx) =>
    claimPull(tx, sovereign_id, {
      token: parts.ids.uuid(),
      now: writeSortable(now),
      until: writeSortable(now + seconds(CLAIM_SECONDS)),
      ...(isAsked ? { asked_at: writeSortable(now) } : {}),
    }),
  )
}

/** Pulls a claimed partner. Undefined when it was removed or changed meanwhile: then nothing more is stored. */
export async function performPull(
  parts: PartnersState,
  claimed: PartnerRow,
  signal: AbortSignal,
): Promise<FinishedPull | undefined> {
  const started = parts.clock.now()
  const pin = JSON.parse(claimed.pin_json) as Pin
  let pause = {}
  try {
    const seen = await readSequences(parts.database.read, claimed.sovereign_id, pinDigest(pin))
    const findings = await runPull(parts, claimed, seen, signal)
    if (signal.aborted) return undefined
    const finished = await storePull(parts, claimed, findings, started)
    if (finished !== undefined) parts.metrics.partnerPulls.with({ outcome: finished.outcome }).increase()
    return finished
  } catch (error) {
    if (error instanceof ImportStoppedError) return undefined
    parts.metrics.partnerPulls.with({ outcome: 'store_failed' }).increase()
    const failures = claimed.failures + 1
    pause = { failures, next_pull_at: writeSortable(nextPull(claimed.interval_seconds, failures, parts.clock.now())) }
    throw error
  } finally {
    await parts.database.write((tx) => releasePull(tx, claimed.sovereign_id, claimed.pull_token ?? '', pause))
  }
}

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
