import { DAY, type Instant, SECOND, readInstant, seconds, writeSortable } from '@chancery/protocol'
import { type Transaction, countRows } from '../../database/database.ts'
import { type Findings, type NewAlarm, type PartnersState, SHOWN_ALARMS, raiseAlarms, worstOf } from './alarms.ts'
import { type Outcome, type Pin, type StoredTreaties, pinDigest, readFacts, writeFacts } from './stored-facts.ts'
import { type PartnerRow, deleteText, findPartner, setSequence, storeText, updatePartner } from './queries/partners.ts'
import { MAX_STORED_CHARACTERS } from './check-material.ts'
import type { OfferedTreaty } from './check-treaties.ts'
import { deleteReported, findReportedText, hideReported, insertReported, listReported } from './queries/reported.ts'
import { MAX_TREATIES } from './read-treaties.ts'

/** Of all partners together. */
const MAX_REPORTED = 200_000

interface TreatyResult {
  readonly facts: StoredTreaties | undefined
  readonly alarms: readonly NewAlarm[]
  readonly isChanged: boolean
}

/** The other form of a treaty. Without one the form is stored. */
interface TwoForms {
  readonly held: { readonly digest: string; readonly treaty_json?: string }
  readonly offered: OfferedTreaty
}

/** A treaty that was shown in two forms is hidden in both until its alarm is cleared. Its text is in the alarm only. */
async function storeTreaties(tx: Transaction, sovereign_id: string, findings: Findings): Promise<TreatyResult> {
  if (findings.treaties === undefined) return { facts: undefined, alarms: [], isChanged: false }
  const { treaties, refused, truncated } = findings.treaties
  const stored = new Map((await listReported(tx.query, sovereign_id)).map((row) => [row.treaty_id, row]))
  const offered = new Map(treaties.map((treaty) => [treaty.treaty_id, treaty]))
  const twice = findTwice(treaties, stored, offered)
  const alarms = await alarmsOf(tx, sovereign_id, twice)
  const gone = [...stored.values()].filter((row) => row.hidden === 0 && !offered.has(row.treaty_id))
  await deleteReported(
    tx,
    sovereign_id,
    gone.map((row) => row.treaty_id),
  )
  await hideReported(tx, sovereign_id, [...twice.keys()])
  const fresh = [...offered.values()].filter(({ treaty_id }) => !stored.has(treaty_id))
  const left = stored.size - gone.length
  const ofAll = fresh.length === 0 ? 0 : MAX_REPORTED - (await countRows(tx.query, 'reported_treaties'))
  // Hidden rows count: otherwise one partner could fill the table with treaties in two forms.
  const added = fresh.slice(0, Math.max(0, Math.min(ofAll, MAX_TREATIES - left)))
  await insertReported(
    tx,
    added.map((treaty) =>
      twice.has(treaty.treaty_id)
        ? { ...treaty, sovereign_id, hidden: 1, treaty_json: '' }
        : { ...treaty, sovereign_id, hidden: 0 },
    ),
  )
  const hidden = [...stored.values()].filter((row) => row.hidden === 1 || twice.has(row.treaty_id)).length
  const hiddenNew = added.filter(({ treaty_id }) => twice.has(treaty_id)).length
  return {
    facts: {
      active: left - hidden + added.length - hiddenNew,
      refused,
      truncated,
      limited: added.length < fresh.length,
    },
    alarms,
    isChanged: gone.length > 0 || added.length > 0 || twice.size > 0,
  }
}

function findTwice(
  treaties: readonly OfferedTreaty[],
  stored: ReadonlyMap<string, { readonly digest: string; readonly hidden: number }>,
  offered: ReadonlyMap<string, OfferedTreaty>,
): ReadonlyMap<string, TwoForms> {
  const twice = new Map<string, TwoForms>()
  for (const treaty of treaties) {
    const { treaty_id, digest } = treaty
    const [other, last] = [stored.get(treaty_id), offered.get(treaty_id)]
    if (other?.hidden === 1) continue
    if (other !== undefined && other.digest !== digest) twice.set(treaty_id, { held: other, offered: treaty })
    else if (last !== undefined && last.digest !== digest) twice.set(treaty_id, { held: treaty, offered: last })
  }
  return twice
}

/** One for each treaty, as far as a partner shows them. */
async function alarmsOf(
  tx: Transaction,
  sovereign_id: string,
  twice: ReadonlyMap<string, TwoForms>,
): Promise<readonly NewAlarm[]> {
  const alarms: NewAlarm[] = []
  for (const [treaty_id, { held, offered }] of [...twice].slice(-SHOWN_ALARMS)) {
    const text = held.treaty_json ?? (await findReportedText(tx.query, sovereign_id, treaty_id))
    alarms.push({
      kind: 'equivocation',
      material: 'treaty',
      sequence: null,
      held_digest: held.digest,
      held_text: shortOrNull(text),
      offered_digest: offered.digest,
      offered_text: shortOrNull(offered.treaty_json),
    })
  }
  return alarms
}

function shortOrNull(text: string | null): string | null {
  return text !== null && text.length <= MAX_STORED_CHARACTERS ? text : null
}

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
