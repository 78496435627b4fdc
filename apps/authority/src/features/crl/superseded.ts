import { writeInstant, writeSortable } from '@chancery/protocol'
import type { CrlParts } from './parts.ts'
import type { Transaction } from '../../database/database.ts'
import { listDueForListing, markRevoked } from '../enrollment/index.ts'
import { entryText } from './list-text.ts'
import type { NewEntry } from './queries.ts'

const MAX_LISTED = 10_000

/** Returns certificates whose renewal has matured, as entries. All of them share the next version. */
export async function addSuperseded(tx: Transaction, parts: CrlParts): Promise<NewEntry[]> {
  const now = parts.clock.now()
  const due = await listDueForListing(tx.query, writeSortable(now), MAX_LISTED)
  await markRevoked(
    tx,
    due.map((certificate) => certificate.cert_id),
    writeSortable(now),
    'superseded',
  )
  return due.map(({ cert_id, expires_at }) => {
    const entry = {
      certificate_id: cert_id,
      revoked_at: writeInstant(now),
      reason: 'superseded' as const,
      issuer: parts.signing.keyId,
    }
    return { cert_id, entry_json: entryText(entry), expires_at }
  })
}
