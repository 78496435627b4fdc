import { type Instant, compareCodePoints } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import type { Reader } from '../../database/database.ts'
import { countRows } from '../../database/count-rows.ts'
import { listReportedTreaties } from '../../database/reported-treaties.ts'
import { countRevocations, listNewestRevocations, listTreatyFacts } from './queries.ts'
import { toReported } from './reported.ts'
import type { GraphInput } from './views.ts'

/** Reads treaties and imported revocations in the forms the wire has. */
export async function readGraphInput(
  db: Reader,
  now: Instant,
  /** The name of this authority. */
  own: string,
  /** Treaties without a valid signature of this authority. */
  refused: ReadonlySet<string> = new Set(),
): Promise<GraphInput> {
  const [rows, revocations, withdrawals, reported, partnerCount] = await Promise.all([
    listTreatyFacts(db),
    listNewestRevocations(db),
    countRevocations(db),
    listReportedTreaties(db, now),
    countRows(db, 'partners'),
  ])
  const treaties = refused.size === 0 ? rows : rows.filter((row) => !refused.has(row.treaty_id))
  return {
    treaties: treaties.map((row) => ({ ...row, revoked_at: toWireTime(row.revoked_at) })),
    // Sorted here and not by the database, whose collation would change the digest of the graph.
    revocations: revocations
      .map((row) => ({ ...row, imported_at: toWireTime(row.imported_at) ?? '' }))
      .sort(
        (a, b) =>
          compareCodePoints(a.issuer_sovereign_id, b.issuer_sovereign_id) ||
          compareCodePoints(a.attestation_id, b.attestation_id),
      ),
    withdrawals,
    reported: toReported(reported, { sovereign: own, treaties }, now),
    partnerCount,
    now,
  }
}
