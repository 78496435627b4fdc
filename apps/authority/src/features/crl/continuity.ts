import {
  DAY,
  HOUR,
  instantOf,
  readInstant,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  verifyList,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import type { OwnKeys } from '../../signing/own-keys.ts'
import { type RecordFaults, clearFault } from '../../signing/record-faults.ts'
import type { Database, Reader } from '../../database/database.ts'
import { listMissing, readEntry, signedEntries, splitEntries } from './signed-list.ts'
import { type CrlVersion, chunks, findActiveVersion, joinEntries, loadCrlText } from './queries.ts'

/**
 * Returns when a certificate ends by its own signed text, because a column may have been edited. Undefined when this
 * authority did not sign the text.
 */
export async function signedEnd(
  text: string | undefined,
  cert_id: string,
  ownKeys: Pick<OwnKeys, 'all'>,
): Promise<Instant | undefined> {
  const certificate = text === undefined ? undefined : parse(text)
  if (certificate?.cert_id !== cert_id || !(await verifyList(certificate, ownKeys.all))) return undefined
  return instantOf(certificate.expires_at)
}

function parse(text: string): JoinCertificate | undefined {
  return readOrUndefined(() => readJoinCertificate(readJson(text)))
}

/**
 * Longer than any certificate is valid. After this time an entry may be removed although its certificate is unknown.
 */
const LONGEST_LIFE = 366n * DAY
/** Maximum number of missing entries that are named. */
const NAMED = 5
export const NOT_AS_SIGNED = 'the latest stored list does not verify'

/** Inputs of the check. */
export interface ListBasis {
  readonly keys: Pick<OwnKeys, 'all'>
  readonly recordFaults: RecordFaults
}

/**
 * Refuses to publish unless the next list has every unexpired entry of the last signed list. Rows are not signed.
 * Without this check, deleting a row would undo a revocation.
 */
export async function requireLiving(
  tx: Reader,
  { keys, recordFaults }: ListBasis,
  next: { readonly before: string | undefined; readonly entries: string; readonly now: Instant },
): Promise<void> {
  const problem =
    next.before === undefined ? NOT_AS_SIGNED : await findDropped(tx, keys, { ...next, before: next.before })
  clearFault(recordFaults, 'crl', problem)
}

/** Runs the check on the stored rows without publishing. Undefined when the next list would be complete. */
export async function findListFault(
  database: Database,
  ownKeys: Pick<OwnKeys, 'all'>,
  now: Instant,
): Promise<string | undefined> {
  const active = await findActiveVersion(database.read)
  if (active === undefined) return undefined
  const before = await loadSignedEntries(database.read, { keys: ownKeys }, active)
  // Excludes entries that the next list would leave out by the column alone.
  const { text: entries } = await joinEntries(database, database.read, writeSortable(now - HOUR))
  return before === undefined ? NOT_AS_SIGNED : findDropped(database.read, ownKeys, { before, entries, now })
}

/** Returns the signed entries of a version. Undefined when its text does not verify. */
export async function loadSignedEntries(
  tx: Reader,
  { keys }: Pick<ListBasis, 'keys'>,
  { sequence }: Pick<CrlVersion, 'sequence'>,
): Promise<string | undefined> {
  return signedEntries(await loadCrlText(tx, sequence), sequence, keys.all)
}

/** Describes the unexpired entries of `before` that are not in `entries`. Undefined when all are. */
export async function findDropped(
  tx: Reader,
  ownKeys: Pick<OwnKeys, 'all'>,
  next: { readonly before: string; readonly entries: string; readonly now: Instant },
): Promise<string | undefined> {
  return describeDropped(await listDropped(tx, ownKeys, next))
}

export function describeDropped(dropped: readonly string[]): string | undefined {
  if (dropped.length === 0) return undefined
  const names = dropped.slice(0, NAMED).map((text) => readEntry(text)?.certificate_id ?? 'an unreadable entry')
  return `${dropped.length} living entries of the last signed list are missing: ${names.join(', ')}`
}

/** Returns the texts of those entries, as they were signed. */
export async function listDropped(
  tx: Reader,
  ownKeys: Pick<OwnKeys, 'all'>,
  { before, entries, now }: { readonly before: string; readonly entries: string; readonly now: Instant },
): Promise<readonly string[]> {
  if (entries.startsWith(before) && (before === '' || [undefined, ','].includes(entries[before.length]))) return []
  return withoutEnded(tx, ownKeys, listMissing(splitEntries(before), splitEntries(entries)), now)
}

/** Leaves out entries whose certificate ended an hour ago. */
export async function withoutEnded(
  tx: Reader,
  ownKeys: Pick<OwnKeys, 'all'>,
  missing: readonly string[],
  now: Instant,
): Promise<readonly string[]> {
  if (missing.length === 0) return []
  const ended = await listEnded(tx, ownKeys, missing, now - HOUR)
  return missing.filter((text) => !ended.has(text))
}

/**
 * Excludes entries whose certificate ended before `cutoff` by its own signed text, because a column may have been
 * edited.
 */
async function listEnded(
  tx: Reader,
  ownKeys: Pick<OwnKeys, 'all'>,
  entries: readonly string[],
  cutoff: Instant,
): Promise<ReadonlySet<string>> {
  const ended = new Set<string>()
  for (const some of chunks(entries, 500)) {
    const read = some.map((text) => ({ text, entry: readEntry(text) }))
    const ids = read.flatMap(({ entry }) => (entry === undefined ? [] : [entry.certificate_id]))
    const rows = await tx
      .selectFrom('issued_certs')
      .select(['cert_id', 'cert_json'])
      .where('cert_id', 'in', ids)
      .execute()
    const texts = new Map(rows.map((row) => [row.cert_id, row.cert_json]))
    for (const { text, entry } of read) {
      if (entry === undefined) continue
      const end = await signedEnd(texts.get(entry.certificate_id), entry.certificate_id, ownKeys)
      const last = end ?? (readInstant(entry.revoked_at) ?? cutoff) + LONGEST_LIFE
      if (last < cutoff) ended.add(text)
    }
  }
  return ended
}
