import { readEventLine, readInstant, writeSortable } from '@chancery/protocol'
import type { BoundaryDecision, Instant } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Reader } from '../../database/database.ts'

const SLICE = 1000

/** The end of the removable prefix, and the last entry that was read to find it. */
export interface Prefix {
  readonly through: number
  readonly readThrough: number
}

/**
 * Finds the longest removable prefix (protocol/trust-operations 6.11): up to the first entry that is too young, the
 * newest record of its resource, or of a decision that still authorizes. Then it is shortened until no decision has
 * entries on both sides.
 */
export async function findPrefix(
  db: Reader,
  from: { readonly removed_through: number; readonly last_sequence: number },
  limits: { readonly cutoff: Instant; readonly now: Instant },
): Promise<Prefix> {
  const stop = await walk(db, from.removed_through, limits)
  return { through: await extendToWholeDecisions(db, from.removed_through, stop), readThrough: from.last_sequence }
}

interface WalkedRow {
  readonly store_sequence: number
  readonly entry_kind: string
  readonly recorded_at: string
  readonly is_head: number
  readonly line: string | null
}

async function walk(
  db: Reader,
  after: number,
  limits: { readonly cutoff: Instant; readonly now: Instant },
): Promise<number> {
  const cutoff = writeSortable(limits.cutoff)
  let last = after
  for (;;) {
    const { rows } = await sql<WalkedRow>`
      select e.store_sequence, e.entry_kind, e.recorded_at,
        case when e.resource_sequence is null or e.resource_sequence <
          (select max(x.resource_sequence) from evidence_entries x where x.resource_id = e.resource_id) then 0 else 1 end as is_head,
        case when e.entry_kind = 'decision' then e.line end as line
      from evidence_entries e where e.store_sequence > ${last} order by e.store_sequence limit ${SLICE}`.execute(db)
    for (const row of rows) {
      if (row.recorded_at >= cutoff || row.is_head === 1 || isOpen(row, limits.now)) return last
      last = row.store_sequence
    }
    if (rows.length < SLICE) return last
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
