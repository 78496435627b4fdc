import { DAY, writeSortable } from '@chancery/protocol'
import type { CrlParts } from './lists.ts'
import type { Transaction } from '../../database/database.ts'
import { digestOfList } from '../../rollback/positions.ts'
import { removeSegments } from './segment-queries.ts'
import { withLease } from '../../database/locks/leases.ts'

/** After its end a version stays for readers with slow clocks or caches, and for disputes. */
const STORED_AFTER_END = DAY
/** Digests of removed versions stay longer than any certificate is valid, so longer than any list names one. */
const DIGEST_STORED_FOR = 400n * DAY
const LEASE_SECONDS = 300
/** Per run: 144,000 a day, more than the one per second that are signed at most. */
const MAX_REMOVED = 1000
/** A list may be megabytes, and its digest is computed here. */
const MAX_RUN_MS = 60_000
const MAX_DIGESTS = 5000

/**
 * Removes the text of list versions that ended more than a day ago. The newest version stays, and so does one that the
 * high-water mark names. Sequence and digest of removed versions stay for 400 days, so that a gap or a fork is still
 * detected.
 */
export async function removeOldLists(parts: CrlParts, signal: AbortSignal): Promise<void> {
  const cutoff = writeSortable(parts.clock.now() - STORED_AFTER_END)
  await withLease(parts, 'crl-removal', LEASE_SECONDS, async () => {
    const start = performance.now()
    for (let removed = 0; removed < MAX_REMOVED && !signal.aborted; removed += 1)
      if (performance.now() - start > MAX_RUN_MS || !(await removeOldest(parts, cutoff))) break
    await parts.database.write(async (tx) => {
      await removeSegments(tx)
      await removeFormer(tx, cutoff)
    })
    const oldest = writeSortable(parts.purgeClock.daily.now() - DIGEST_STORED_FOR)
    await parts.database.write((tx) => removeDigests(tx, oldest))
  })
}

/** Removes one version per transaction. Returns false when none is left to remove. */
async function removeOldest(parts: CrlParts, cutoff: string): Promise<boolean> {
  const marked = parts.rollback.mark?.crl?.sequence ?? -1
  return parts.database.write(async (tx) => {
    const oldest = await tx.query
      .selectFrom('crl_versions')
      .select(['sequence', 'crl_json', 'digest'])
      .where('next_update', '<', cutoff)
      .where('sequence', '<', (eb) => eb.selectFrom('crl_versions').select((max) => max.fn.max('sequence').as('last')))
      .where('sequence', '!=', marked)
      .orderBy('sequence')
      .limit(1)
      .executeTakeFirst()
    if (oldest === undefined) return false
    const { sequence } = oldest
    const row = {
      sequence,
      digest: digestOfList(oldest),
      removed_at: writeSortable(parts.clock.now()),
    }
    await tx.query.insertInto('removed_crl_versions').values(row).execute()
    await tx.query.deleteFrom('crl_versions').where('sequence', '=', sequence).execute()
    return true
  })
}

/** From the first version on, and never after a stored version, so that the rest has no gap. */
async function removeDigests({ query }: Transaction, cutoff: string): Promise<void> {
  const old = query
    .selectFrom('removed_crl_versions')
    .select('sequence')
    .where('removed_at', '<', cutoff)
    .where('sequence', '<', (eb) => eb.selectFrom('crl_versions').select((min) => min.fn.min('sequence').as('first')))
    .where('sequence', '<', (eb) =>
      eb.fn.coalesce(
        eb
          .selectFrom('removed_crl_versions as younger')
          .select((min) => min.fn.min('younger.sequence').as('first'))
          .where('younger.removed_at', '>=', cutoff),
        eb.val(Number.MAX_SAFE_INTEGER),
      ),
    )
    .orderBy('sequence')
    .limit(MAX_DIGESTS)
  await query.deleteFrom('removed_crl_versions').where('sequence', 'in', old).execute()
}

/** Lists of former keys: the newest of each stays. The high-water mark does not name them. */
async function removeFormer({ query }: Transaction, cutoff: string): Promise<void> {
  await query
    .deleteFrom('former_crl_versions')
    .where('next_update', '<', cutoff)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('former_crl_versions as later')
          .select('later.sequence')
          .whereRef('later.key_id', '=', 'former_crl_versions.key_id')
          .whereRef('later.sequence', '>', 'former_crl_versions.sequence'),
      ),
    )
    .execute()
}
