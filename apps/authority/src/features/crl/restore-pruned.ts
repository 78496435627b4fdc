import { type CrlEntry, HOUR, type Instant, readInstant, writeInstant, writeSortable } from '@chancery/protocol'
import type { CrlParts } from './parts.ts'
import { isInFuture } from '../../clock/date-after.ts'
import type { Transaction } from '../../database/database.ts'
import { entryText } from './list-text.ts'
import { type CrlVersion, appendEntries } from './queries.ts'

/**
 * Restores entries that were pruned while a clock was far ahead: revoked certificates that are unexpired by this clock.
 * Without them a relying party would accept those again. Returns whether there were any.
 */
export async function restorePruned(
  tx: Transaction,
  parts: CrlParts,
  previous: CrlVersion | undefined,
  now: Instant,
): Promise<boolean> {
  if (previous === undefined || !isInFuture(previous.issuedAt, now)) return false
  const unlisted = await tx.query
    .selectFrom('issued_certs as c')
    .leftJoin('crl_entries as e', 'e.cert_id', 'c.cert_id')
    .select(['c.cert_id', 'c.expires_at', 'c.revoked_at', 'c.revocation_reason'])
    .where('c.status', '=', 'revoked')
    .where('c.expires_at', '>=', writeSortable(now - HOUR))
    .where('e.cert_id', 'is', null)
    .orderBy('c.revoked_at')
    .orderBy('c.cert_id')
    .execute()
  const entries = unlisted.map(({ cert_id, expires_at, revoked_at, revocation_reason }) => {
    const entry: CrlEntry = {
      certificate_id: cert_id,
      revoked_at: writeInstant(readInstant(revoked_at ?? '') ?? now),
      reason: (revocation_reason ?? 'unspecified') as CrlEntry['reason'],
      issuer: parts.signing.keyId,
    }
    return { cert_id, entry_json: entryText(entry), expires_at }
  })
  await appendEntries(tx, entries)
  return entries.length > 0
}
