import {
  type BoundaryDecision,
  type BudgetUse,
  type Instant,
  PROOF_LIFETIME_SECONDS,
  readBudgetEvent,
  readEventLine,
  readInstant,
  readUses,
  seconds,
  slotOf,
  writeSortable,
} from '@chancery/protocol'
import { sql } from 'kysely'
import { hasBudget, keptUntil } from '../../budgets/slots.ts'
import type { Reader } from '../../database/database.ts'

const SLICE = 1000

/** Resource heads of one checkpoint (protocol/trust-operations 6.11). */
export const MAX_RESOURCE_HEADS = 50_000

/** Why the prefix ends where it ends. */
export type StoppedBy =
  | 'end'
  | 'too_young'
  | 'open_decision'
  /** Its approval has not ended. */
  | 'open_approval'
  /** A budget still counts it. */
  | 'open_budget'
  | 'split_decision'
  | 'resource_head_limit'
  /** The caller gave the last entry to remove. */
  | 'through_sequence'
  /** A preview reads no further. */
  | 'entry_limit'

/** The end of the removable prefix, and the last entry that was read to find it. */
export interface Prefix {
  readonly through: number
  readonly readThrough: number
  readonly stoppedBy: StoppedBy
}

export interface PrefixLimits {
  readonly cutoff: Instant
  readonly now: Instant
  /** The resources whose heads are in the latest checkpoint. */
  readonly heads: Iterable<string>
  readonly maxHeads?: number
  /** The last entry to remove at most. */
  readonly through?: number | undefined
  /** Of a preview: entries to read at most. */
  readonly maxEntries?: number
}

/**
 * Finds the longest removable prefix (protocol/trust-operations 6.11): up to the first entry that is too young, of a
 * decision that still authorizes, that a budget still counts, or of one resource more than a checkpoint has heads. Then it is shortened until no
 * decision has entries on both sides.
 */
export async function findPrefix(
  db: Reader,
  from: { readonly removed_through: number; readonly last_sequence: number },
  limits: PrefixLimits,
): Promise<Prefix> {
  const stop = await walk(db, from.removed_through, limits)
  const through = await extendToWholeDecisions(db, from.removed_through, stop.last)
  // The record of one resource too many, or of a budget, follows its decision, so its own reason is the useful one.
  const isSplit = through < stop.last && !['resource_head_limit', 'open_budget'].includes(stop.stoppedBy)
  const stoppedBy = isSplit ? 'split_decision' : stop.stoppedBy
  return { through, readThrough: from.last_sequence, stoppedBy }
}

interface WalkedRow {
  readonly store_sequence: number
  readonly entry_kind: string
  readonly recorded_at: string
  /** The resource of a record that becomes the head of its resource when it is removed. */
  readonly head_of: string | null
  readonly line: string | null
  readonly open_approval: string | null
}

async function walk(
  db: Reader,
  after: number,
  limits: PrefixLimits,
): Promise<{ readonly last: number; readonly stoppedBy: StoppedBy }> {
  const cutoff = writeSortable(limits.cutoff)
  const heads = new Set(limits.heads)
  const maxHeads = limits.maxHeads ?? MAX_RESOURCE_HEADS
  let last = after
  for (;;) {
    const { rows } = await sql<WalkedRow>`
      select e.store_sequence, e.entry_kind, e.recorded_at,
        case when e.entry_kind = 'approval' then (select a.approval_id from approvals a
          where a.decision_id = e.decision_id and a.state in ('pending', 'approved')) end as open_approval,
        case when e.resource_sequence is not null then e.resource_id end as head_of,
        case when e.entry_kind = 'decision' or (e.entry_kind = 'justification' and ${hasBudget('e')}) then e.line end as line
      from evidence_entries e where e.store_sequence > ${last} order by e.store_sequence limit ${SLICE}`.execute(db)
    for (const row of rows) {
      if (row.store_sequence > (limits.through ?? Number.POSITIVE_INFINITY))
        return { last, stoppedBy: 'through_sequence' }
      if (row.recorded_at >= cutoff) return { last, stoppedBy: 'too_young' }
      if (isOpen(row, limits.now)) return { last, stoppedBy: 'open_decision' }
      // Its end needs its beginning: the requirements, and who approved.
      if (row.open_approval !== null) return { last, stoppedBy: 'open_approval' }
      if (isStillCounted(row, limits.now)) return { last, stoppedBy: 'open_budget' }
      if (row.head_of !== null && !heads.has(row.head_of)) {
        if (heads.size >= maxHeads) return { last, stoppedBy: 'resource_head_limit' }
        heads.add(row.head_of)
      }
      last = row.store_sequence
    }
    if (rows.length < SLICE) return { last, stoppedBy: 'end' }
    if (last - after >= (limits.maxEntries ?? Number.POSITIVE_INFINITY)) return { last, stoppedBy: 'entry_limit' }
  }
}

/** An unreadable decision never counts as expired. */
function isOpen({ entry_kind, line }: WalkedRow, now: Instant): boolean {
  if (entry_kind !== 'decision') return false
  const event = line === null ? undefined : readEventLine(line)
  const decision = (event?.payload as unknown as { decision?: BoundaryDecision } | undefined)?.decision
  const until = readInstant(decision?.decision_valid_until ?? '')
  return until === undefined || until >= now
}

/** Counters are computed from entries, so they stay while a window counts them. A budget that cannot be read stays, too. */
function isStillCounted({ entry_kind, line }: WalkedRow, now: Instant): boolean {
  if (entry_kind !== 'justification' || line === null) return false
  const event = readEventLine(line)
  const read = event === undefined ? undefined : readBudgetEvent(entry_kind, event.payload)
  if (event === undefined || read?.kind !== 'justification') return true
  const traced = (event.payload as unknown as { trace?: { traced_at?: string } }).trace?.traced_at
  const madeAt = readInstant(traced ?? '')
  return madeAt === undefined || readUses(read.steps).some((use) => use === undefined || countsUntil(use, madeAt) > now)
}

/** The end of the last window that counts a use, or of its reservation. */
function countsUntil({ window, settle }: BudgetUse, madeAt: Instant): Instant {
  const windowEnd = keptUntil(window, slotOf(window, madeAt))
  const settled = madeAt + (settle === null ? 0n : seconds(PROOF_LIFETIME_SECONDS + settle.seconds))
  return settled > windowEnd ? settled : windowEnd
}

/** Half a decision proves nothing, so all its entries stay or all are removed. */
async function extendToWholeDecisions(db: Reader, after: number, stop: number): Promise<number> {
  let through = stop
  for (;;) {
    const spanning = await findSpanning(db, after, through, through)
    if (spanning === undefined) return through
    through = spanning - 1
  }
}

/** The first entry up to `through` whose decision also has entries after `beyond`. Read in parts, by index probes. */
export async function findSpanning(
  db: Reader,
  after: number,
  through: number,
  beyond: number,
): Promise<number | undefined> {
  for (let from = after; from < through; from += SLICE) {
    const row = await db
      .selectFrom('evidence_entries as e')
      .select('e.store_sequence')
      .where('e.store_sequence', '>', from)
      .where('e.store_sequence', '<=', Math.min(from + SLICE, through))
      .where('e.entry_kind', '=', 'decision')
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom('evidence_entries as x')
            .select('x.store_sequence')
            .whereRef('x.decision_id', '=', 'e.decision_id')
            .where('x.entry_kind', '!=', 'rejection')
            .where('x.store_sequence', '>', beyond),
        ),
      )
      .orderBy('e.store_sequence')
      .limit(1)
      .executeTakeFirst()
    if (row !== undefined) return row.store_sequence
  }
  return undefined
}

/** Returns whether an entry after `after` belongs to a decision at or before `through`. */
export async function isTouchedSince(tx: Reader, after: number, through: number): Promise<boolean> {
  const row = await tx
    .selectFrom('evidence_entries as n')
    .innerJoin('evidence_entries as d', (join) =>
      join.onRef('d.decision_id', '=', 'n.decision_id').on('d.entry_kind', '=', 'decision'),
    )
    .select('n.store_sequence')
    .where('n.store_sequence', '>', after)
    .where('n.entry_kind', '!=', 'rejection')
    .where('d.store_sequence', '<=', through)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
