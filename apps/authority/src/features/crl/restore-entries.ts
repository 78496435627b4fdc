import { type Crl, type CrlEntry, DAY, HOUR, instantOf, writeSortable } from '@chancery/protocol'
import type { CrlState } from './entries-cache.ts'
import { type CrlParts, entryText } from './lists.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { markRevoked } from '../enrollment/index.ts'
import { publishVersion } from './publish.ts'
import { listDropped, loadSignedEntries, signedEnd } from './continuity.ts'
import { readEntry } from './signed-list.ts'
import { findActiveVersion, joinEntries, pruneEntries, rewriteEntry } from './queries.ts'
import type { CrlVersion, NewEntry } from './queries.ts'

/** Longer than any certificate is valid. Used when the restored database lacks the certificate and its end. */
const UNKNOWN_EXPIRY = 366n * DAY

/**
 * Restores every entry of a saved list and publishes the result with `sequence`. Returns the number of entries that
 * were missing. No entry of either list is lost, and no reason is lowered. The caller has the lock.
 */
export async function restoreEntries(tx: Transaction, parts: CrlState, saved: Crl, sequence: number): Promise<number> {
  const stored = await tx.query.selectFrom('crl_entries').select(['cert_id', 'entry_json']).execute()
  const texts = new Map(stored.map((row) => [row.cert_id, row.entry_json]))
  const appended: NewEntry[] = []
  for (const entry of saved.revoked_certificates) {
    const text = entryText(entry)
    const before = texts.get(entry.certificate_id)
    if (before === text) continue
    const row = { cert_id: entry.certificate_id, entry_json: text, expires_at: await expiryOf(tx.query, parts, entry) }
    // A reason is only raised after it was listed, so the saved text is the later one.
    if (before !== undefined) await rewriteEntry(tx, row)
    else appended.push(row)
    await markRevoked(tx, [entry.certificate_id], writeSortable(instantOf(entry.revoked_at)), entry.reason)
  }
  const active = await findActiveVersion(tx.query)
  appended.push(...(await restoreLost(tx, parts, active, appended)).appended)
  const issuedAt = instantOf(saved.issued_at)
  // Dated after both predecessors: the one in the database and the published one.
  const previous =
    active !== undefined && active.issuedAt > issuedAt
      ? active
      : { sequence: saved.sequence, issuedAt, nextUpdate: instantOf(saved.next_update), entries: stored.length }
  const details = { job: 'recover' }
  await publishVersion(tx, parts, previous, sequence, {
    cause: 'refresh',
    appended,
    rewritten: true,
    details,
    isRecovered: true,
  })
  return appended.length
}

/**
 * Signs the list again unchanged, dated by this clock whatever the date of its predecessor. The caller has the lock.
 */
export async function resignList(tx: Transaction, parts: CrlState, previous: CrlVersion): Promise<number> {
  const sequence = previous.sequence + 1
  const change = {
    cause: 'refresh',
    appended: [],
    rewritten: true,
    details: { job: 'recover' },
    isRedated: true,
  } as const
  await publishVersion(tx, parts, previous, sequence, change)
  return sequence
}

interface LostEntries {
  /** Entries to append, because they have no row. */
  readonly appended: readonly NewEntry[]
  /** Includes entries whose row was different and has been corrected. */
  readonly count: number
}

/** Returns entries of the last signed list that the rows lack: a row may have been deleted or edited. */
async function restoreLost(
  tx: Transaction,
  parts: CrlParts,
  active: CrlVersion | undefined,
  besides: readonly NewEntry[],
): Promise<LostEntries> {
  const before = active === undefined ? undefined : await loadSignedEntries(tx.query, parts, active)
  if (before === undefined) return { appended: [], count: 0 }
  await pruneEntries(tx, writeSortable(parts.clock.now() - HOUR))
  const rows = await tx.query.selectFrom('crl_entries').select('cert_id').execute()
  const stored = new Set(rows.map((row) => row.cert_id))
  const known = new Set(besides.map((entry) => entry.cert_id))
  const { text: entries } = await joinEntries(parts.database, tx.query)
  const appended: NewEntry[] = []
  let count = 0
  for (const entry_json of await listDropped(tx.query, parts.keys, { before, entries, now: parts.clock.now() })) {
    const entry = readEntry(entry_json)
    if (entry === undefined || known.has(entry.certificate_id)) continue
    const row = { cert_id: entry.certificate_id, entry_json, expires_at: await expiryOf(tx.query, parts, entry) }
    if (stored.has(entry.certificate_id)) await rewriteEntry(tx, row)
    else appended.push(row)
    await markRevoked(tx, [entry.certificate_id], writeSortable(instantOf(entry.revoked_at)), entry.reason)
    count += 1
  }
  return { appended, count }
}

/**
 * Restores entries of the last signed list that the rows lack, and publishes. Undefined when nothing is missing. The
 * caller has the lock.
 */
export async function restoreDropped(
  tx: Transaction,
  parts: CrlState,
): Promise<{ readonly sequence: number; readonly added: number } | undefined> {
  const previous = await findActiveVersion(tx.query)
  const { appended, count } = await restoreLost(tx, parts, previous, [])
  if (previous === undefined || count === 0) return undefined
  const sequence = previous.sequence + 1
  const change = { cause: 'refresh', rewritten: true, details: { job: 'recover' } } as const
  await publishVersion(tx, parts, previous, sequence, { ...change, appended })
  return { sequence, added: count }
}

async function expiryOf(tx: Reader, parts: CrlParts, entry: Pick<CrlEntry, 'certificate_id'>): Promise<string> {
  const row = await tx
    .selectFrom('issued_certs')
    .select(['expires_at', 'cert_json'])
    .where('cert_id', '=', entry.certificate_id)
    .executeTakeFirst()
  const end = await signedEnd(row?.cert_json, entry.certificate_id, parts.keys)
  return writeSortable(end ?? parts.clock.now() + UNKNOWN_EXPIRY)
}
