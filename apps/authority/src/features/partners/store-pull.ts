import { DAY, SECOND, readInstant, seconds, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import { raiseAlarms } from './alarms.ts'
import { worstOf } from './findings.ts'
import type { Findings, NewAlarm } from './findings.ts'
import { pinDigest } from './pin.ts'
import type { Pin } from './pin.ts'
import type { Outcome } from './step-failure.ts'
import {
  countReported,
  deleteReported,
  deleteText,
  findPartner,
  hideReported,
  insertReported,
  listReported,
  setSequence,
  storeText,
  updatePartner,
} from './queries.ts'
import type { PartnerRow } from './queries.ts'
import type { PartnersState } from './state.ts'
import { writeFacts } from './stored-facts.ts'
import type { StoredTreaties } from './stored-facts.ts'

/** Of all partners together. */
const MAX_REPORTED = 200_000
const MAX_PAUSE_SECONDS = 3600
const MAX_DOUBLINGS = 16

export interface FinishedPull {
  readonly outcome: Outcome
  readonly changed: readonly string[]
  readonly row: PartnerRow
}

/** Stores what a pull found, unless the partner was removed or pinned again meanwhile. */
export async function storePull(
  parts: PartnersState,
  claimed: PartnerRow,
  findings: Findings,
  started: Instant,
): Promise<FinishedPull | undefined> {
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    const row = await findPartner(tx.query, claimed.sovereign_id)
    if (row === undefined || row.pull_token !== claimed.pull_token) return undefined
    const { sovereign_id } = row
    const now = parts.clock.now()
    const treaties = await storeTreaties(tx, sovereign_id, findings)
    await storeTexts(tx, row, findings, now)
    const alarms = [...findings.alarms, ...treaties.alarms]
    const open_alarms = await raiseAlarms(tx, parts, sovereign_id, alarms)
    if (treaties.alarms.length > 0) findings.outcomes.push('equivocation')
    if (treaties.isChanged) findings.changed.push('treaties')
    const outcome = worstOf(findings)
    const isGood = outcome === 'ok' || outcome === 'unchanged'
    const failures = isGood || outcome === 'rollback' || outcome === 'equivocation' ? 0 : row.failures + 1
    if (findings.keyChanged)
      await parts.audit.record(tx, {
        type: 'partner_key_changed',
        details: { sovereign_id, genesis_digest: findings.facts.genesis?.digest ?? null },
      })
    const changes: Partial<PartnerRow> = {
      stored_json: writeFacts({
        ...findings.facts,
        ...(treaties.facts === undefined ? {} : { treaties: treaties.facts }),
        ...(findings.keyChanged ? { key_changed_at: writeSortable(now) } : {}),
      }),
      open_alarms,
      failures,
      last_pull_at: writeSortable(started),
      last_outcome: outcome,
      last_duration_ms: Number((now - started) / 1000n),
      ...(isGood ? { last_good_pull_at: writeSortable(now) } : {}),
      ...(treaties.facts === undefined ? {} : { treaties_as_of: writeSortable(now) }),
      next_pull_at: writeSortable(nextPull(row.interval_seconds, failures, now)),
      pull_token: null,
      pull_until: null,
    }
    await updatePartner(tx, sovereign_id, changes)
    if (treaties.isChanged || (isGood && wasLongAgo(row, now))) await tx.raiseVersion('partners')
    return { outcome, changed: findings.changed, row: { ...row, ...changes } }
  })
}

/** The interval plus or minus a tenth. After failures it is doubled with each, up to a limit that nothing exceeds. */
export function nextPull(interval: number, failures: number, now: Instant, random = Math.random()): Instant {
  const most = Math.max(MAX_PAUSE_SECONDS, interval)
  const pause = Math.min(most, interval * 2 ** Math.min(failures, MAX_DOUBLINGS))
  const spread = pause * (0.9 + 0.2 * random)
  const wait = failures === 0 ? spread : Math.min(most, spread)
  return now + (seconds(1) * BigInt(Math.round(wait * 1000))) / 1000n
}

/** Public views leave out a partner whose last good pull is older than a day. */
function wasLongAgo(row: PartnerRow, now: Instant): boolean {
  return now - (readInstant(row.last_good_pull_at ?? '') ?? 0n) > DAY - SECOND
}

async function storeTexts(tx: Transaction, row: PartnerRow, findings: Findings, now: Instant): Promise<void> {
  const { sovereign_id } = row
  const pin_digest = pinDigest(JSON.parse(row.pin_json) as Pin)
  for (const [material, sequence] of findings.sequences)
    await setSequence(tx, { sovereign_id, pin_digest, material, sequence })
  for (const [material, text] of findings.texts)
    if (text === null) await deleteText(tx, sovereign_id, material)
    else await storeText(tx, { sovereign_id, material, text, stored_at: writeSortable(now) })
}

interface TreatyResult {
  readonly facts: StoredTreaties | undefined
  readonly alarms: readonly NewAlarm[]
  readonly isChanged: boolean
}

/** A treaty that was shown in two forms is hidden in both until its alarm is cleared. */
async function storeTreaties(tx: Transaction, sovereign_id: string, findings: Findings): Promise<TreatyResult> {
  if (findings.treaties === undefined) return { facts: undefined, alarms: [], isChanged: false }
  const { treaties, refused, truncated } = findings.treaties
  const stored = new Map((await listReported(tx.query, sovereign_id)).map((row) => [row.treaty_id, row]))
  const offered = new Map(treaties.map((treaty) => [treaty.treaty_id, treaty]))
  const twice = new Map<string, readonly [string, string]>()
  for (const { treaty_id, digest } of treaties) {
    const [other, last] = [stored.get(treaty_id), offered.get(treaty_id)]
    if (other !== undefined && other.hidden === 0 && other.digest !== digest)
      twice.set(treaty_id, [other.digest, digest])
    else if (last !== undefined && last.digest !== digest) twice.set(treaty_id, [digest, last.digest])
  }
  const gone = [...stored.values()].filter((row) => row.hidden === 0 && !offered.has(row.treaty_id))
  await deleteReported(
    tx,
    sovereign_id,
    gone.map((row) => row.treaty_id),
  )
  await hideReported(tx, sovereign_id, [...twice.keys()])
  const fresh = [...offered.values()].filter(({ treaty_id }) => !stored.has(treaty_id))
  const room = fresh.length === 0 ? 0 : Math.max(0, MAX_REPORTED - (await countReported(tx.query)))
  const added = fresh.slice(0, room)
  await insertReported(
    tx,
    added.map((treaty) => ({ ...treaty, sovereign_id, hidden: twice.has(treaty.treaty_id) ? 1 : 0 })),
  )
  const hidden = [...stored.values()].filter((row) => row.hidden === 1 || twice.has(row.treaty_id)).length
  const hiddenNew = added.filter(({ treaty_id }) => twice.has(treaty_id)).length
  const active = stored.size - gone.length - hidden + added.length - hiddenNew
  const [first] = twice
  return {
    facts: { active, refused, truncated, limited: added.length < fresh.length },
    alarms:
      first === undefined
        ? []
        : [
            {
              kind: 'equivocation',
              material: 'treaty',
              sequence: null,
              held_digest: first[1][0],
              offered_digest: first[1][1],
              offered_text: null,
            },
          ],
    isChanged: gone.length > 0 || added.length > 0 || twice.size > 0,
  }
}
