import { DAY, instantOf, writeSortable } from '@chancery/protocol'
import type { Crl, CrlEntry } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import type { Tx } from '../../store/database.ts'
import { markRevoked } from '../enrollment/index.ts'
import { entryText } from './list-text.ts'
import { publishVersion } from './publish.ts'
import { findActiveVersion, rewriteEntry } from './store.ts'
import type { CrlVersion, NewEntry } from './store.ts'

/** Longer than any certificate lives: of one that the restored database does not know nobody knows its end. */
const UNKNOWN_EXPIRY = 366n * DAY

/**
 * Puts everything a kept list names back on the list and publishes it under `sequence`; gives how many entries had been
 * forgotten. No entry of either list is lost, and no reason is lowered. The caller holds the head.
 */
export async function relistEntries(tx: Tx, office: Office, kept: Crl, sequence: number): Promise<number> {
  const held = await tx.selectFrom('crl_entries').select(['cert_id', 'entry_json']).execute()
  const texts = new Map(held.map((row) => [row.cert_id, row.entry_json]))
  const appended: NewEntry[] = []
  for (const entry of kept.revoked_certificates) {
    const text = entryText(entry)
    const before = texts.get(entry.certificate_id)
    if (before === text) continue
    const row = { cert_id: entry.certificate_id, entry_json: text, expires_at: await expiryOf(tx, office, entry) }
    // Only ever raised after it was listed: the kept text is the later one.
    if (before !== undefined) await rewriteEntry(tx, row)
    else appended.push(row)
    await markRevoked(tx, [entry.certificate_id], writeSortable(instantOf(entry.revoked_at)), entry.reason)
  }
  const active = await findActiveVersion(tx)
  const issuedAt = instantOf(kept.issued_at)
  // Dated after both of its predecessors, the one in the database and the one that was published.
  const previous =
    active !== undefined && active.issuedAt > issuedAt
      ? active
      : { sequence: kept.sequence, issuedAt, nextUpdate: instantOf(kept.next_update), entries: held.length }
  const details = { job: 'recover' }
  await publishVersion(tx, office, previous, sequence, { cause: 'refresh', appended, rewritten: true, details })
  return appended.length
}

/** Signs the list again as it is, dated by this clock however its predecessor is dated. The caller holds the head. */
export async function redateList(tx: Tx, office: Office, previous: CrlVersion): Promise<number> {
  const sequence = previous.sequence + 1
  const change = {
    cause: 'refresh',
    appended: [],
    rewritten: true,
    details: { job: 'recover' },
    isRedated: true,
  } as const
  await publishVersion(tx, office, previous, sequence, change)
  return sequence
}

async function expiryOf(tx: Tx, office: Office, entry: CrlEntry): Promise<string> {
  const row = await tx
    .selectFrom('issued_certs')
    .select('expires_at')
    .where('cert_id', '=', entry.certificate_id)
    .executeTakeFirst()
  return row?.expires_at ?? writeSortable(office.clock.now() + UNKNOWN_EXPIRY)
}
