import { DAY, type Instant, SECOND, readInstant, seconds, writeSortable } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import { raiseAlarms } from './alarms.ts'
import { type Findings, type NewAlarm, worstOf } from './findings.ts'
import { type Pin, pinDigest } from './pin.ts'
import type { Outcome } from './step-failure.ts'
import { type PartnerRow, deleteText, findPartner, setSequence, storeText, updatePartner } from './queries/partners.ts'
import type { PartnersState } from './state.ts'
import { storeTreaties } from './store-treaties.ts'
import { readFacts, writeFacts } from './stored-facts.ts'

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
    const alarms = [...findings.alarms, ...treaties.alarms].map((alarm) => completed(alarm, row, findings))
    // Before the texts: an alarm names those that were stored until now.
    const open_alarms = await raiseAlarms(tx, parts, sovereign_id, alarms)
    await storeTexts(tx, row, findings, now)
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

/** An alarm with the digest that is stored, and the text that was offered. */
function completed(alarm: NewAlarm, row: PartnerRow, { offered }: Findings): NewAlarm {
  const { material } = alarm
  if (material !== 'feed' && material !== 'crl') return alarm
  const stored = readFacts(row.stored_json)[material]?.digest
  return {
    ...alarm,
    held_digest: alarm.held_digest ?? stored ?? null,
    offered_text: alarm.offered_text ?? offered.get(material) ?? null,
  }
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
