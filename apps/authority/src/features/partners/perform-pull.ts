import { seconds, writeSortable } from '@chancery/protocol'
import { ImportStoppedError } from '../revocation-feeds/index.ts'
import { type Pin, pinDigest } from './pin.ts'
import { type PartnerRow, claimPull, readSequences, releasePull } from './queries/partners.ts'
import { runPull } from './run-pull.ts'
import type { PartnersState } from './state.ts'
import { type FinishedPull, nextPull, storePull } from './store-pull.ts'

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
