import type { Transaction } from '../../database/database.ts'
import { SHOWN_ALARMS } from './alarms.ts'
import { MAX_STORED_CHARACTERS } from './check-material.ts'
import type { OfferedTreaty } from './check-treaties.ts'
import type { Findings, NewAlarm } from './findings.ts'
import { countRows } from '../../database/count-rows.ts'
import { deleteReported, findReportedText, hideReported, insertReported, listReported } from './queries/reported.ts'
import { MAX_TREATIES } from './read-treaties.ts'
import type { StoredTreaties } from './stored-facts.ts'

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
export async function storeTreaties(tx: Transaction, sovereign_id: string, findings: Findings): Promise<TreatyResult> {
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
