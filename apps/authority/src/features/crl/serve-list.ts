import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import {
  CRL_REFRESH_MARGIN,
  LIST_HEAD_HEADER,
  seconds,
  writeInstant,
  writeListHeadHeader,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { CachedDocument, type Call, RareDocument, endOfLoopTurn } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { type CrlState, isLarge, setCurrent } from './entries-cache.ts'
import { LockTimeoutError } from '../../database/errors.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { type CrlVersion, type NewEntry, findActiveVersion, loadList } from './queries.ts'
import { createHash } from 'node:crypto'
import type { Reader, Transaction } from '../../database/database.ts'
import { type StoredList, loadListBytes } from '../../database/list-segments.ts'
import { type CrlParts, entryText } from './lists.ts'
import { listDueForListing, markRevoked } from '../enrollment/index.ts'
import { isInFuture, reportInFuture } from '../../clock/date-after.ts'
import type { Versions } from '../../database/locks/versions.ts'
import { type Lease, checkLease, withLease } from '../../database/locks/leases.ts'
import { findListFault } from './continuity.ts'
import { publishVersion } from './publish.ts'

/** A stored list as it is served. */
async function readDocument(db: Reader, list: StoredList, cacheControl: string): Promise<CachedDocument> {
  const bytes = await loadListBytes(db, list)
  return toDocument(bytes, cacheControl, await digestInTurns(bytes), list.head_json)
}

/** A stored list for one caller. */
export async function readRareDocument(db: Reader, list: StoredList, cacheControl: string): Promise<RareDocument> {
  const bytes = await loadListBytes(db, list)
  const { etag, more } = factsOf(await digestInTurns(bytes), list.head_json)
  return new RareDocument(bytes, cacheControl, undefined, etag, more)
}

/** Bytes hashed in one turn of the event loop: about a millisecond. */
const SLICE = 1_048_576

/** The thread pool would copy all bytes on the event loop first. */
async function digestInTurns(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += SLICE) {
    if (at > 0) await endOfLoopTurn()
    hash.update(bytes.subarray(at, at + SLICE))
  }
  return hash.digest('hex')
}

/** A list as it is served; `digest` is the SHA-256 of its bytes. */
function toDocument(bytes: Uint8Array, cacheControl: string, digest: string, head: string | null): CachedDocument {
  const { etag, more } = factsOf(digest, head)
  return new CachedDocument(bytes, cacheControl, undefined, etag, more)
}

function factsOf(
  digest: string,
  head: string | null,
): { readonly etag: string; readonly more: Record<string, string> } {
  const etag = `"${Buffer.from(digest, 'hex').toString('base64url')}"`
  return { etag, more: head === null ? {} : { [LIST_HEAD_HEADER]: writeListHeadHeader(head) } }
}

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

const LEASE_SECONDS = 120

/** Superseded certificates wait this long after the last version, so that renewals alone cause one version a minute. */
const GATHER = seconds(60)

/** When the next version is signed. */
interface ListTimes {
  /** Always: the list is near its end. */
  readonly refreshAt: Instant
  /** If there are superseded certificates to list. A revocation does not wait, and includes them. */
  readonly gatherAt: Instant
}

/** Returns whether the list has to be signed again. */
function isListDue({ refreshAt, gatherAt }: ListTimes, versions: Versions, now: Instant): boolean {
  if (now >= refreshAt) return true
  return now >= gatherAt && versions.nextListing !== null && versions.nextListing <= writeSortable(now)
}

function listTimes({ issuedAt, nextUpdate }: CrlVersion): ListTimes {
  return { refreshAt: nextUpdate - CRL_REFRESH_MARGIN, gatherAt: issuedAt + GATHER }
}

/**
 * Updates the list if due and returns the active version: the first list, superseded certificates, the 12-hour margin.
 * Checked again under the lock, so that only one of several instances publishes.
 */
export async function refreshIfDue(parts: CrlState, details: JsonObject, lease?: Lease): Promise<CrlVersion> {
  const before = await findActiveVersion(parts.database.read)
  if (
    before !== undefined &&
    (!parts.signing.isAllowed() || !isListDue(listTimes(before), await parts.versions.read(), parts.clock.now()))
  )
    return before
  const { version, stored } = await parts.database.write(async (tx) => {
    if (lease !== undefined) await checkLease(tx, lease)
    await tx.lock('crl')
    const previous = await findActiveVersion(tx.query)
    const now = parts.clock.now()
    const isOld = previous !== undefined && now >= listTimes(previous).refreshAt
    const isGathered = previous !== undefined && now >= listTimes(previous).gatherAt
    const appended = isOld || isGathered ? await addSuperseded(tx, parts) : []
    if (previous !== undefined && appended.length === 0 && !isOld) return { version: previous, stored: undefined }
    const sequence = previous === undefined ? 0 : previous.sequence + 1
    const cause = appended.length > 0 ? ('superseded' as const) : ('refresh' as const)
    const published = await publishVersion(tx, parts, previous, sequence, {
      cause,
      appended,
      rewritten: false,
      details,
    })
    const events = appended.map(({ cert_id }) => ({
      type: 'certificate_revoked' as const,
      details: { cert_id, reason: 'superseded', crl_sequence: sequence, ...details },
    }))
    await parts.audit.recordAll(tx, events)
    return published
  })
  if (stored !== undefined) setCurrent(parts, stored)
  return version
}

/** The fault is cleared when the rows are complete again, whether or not a list is due. */
async function checkRows(parts: CrlParts): Promise<void> {
  if ((await findListFault(parts.database, parts.keys, parts.clock.now())) === undefined)
    parts.recordFaults.clear('crl')
}

/**
 * Runs every minute on one instance, so that the list does not expire, and superseded certificates are listed, without
 * readers.
 */
export async function refreshList(parts: CrlState): Promise<void> {
  if (!parts.signing.isAllowed()) return
  if (parts.recordFaults.has('crl')) await checkRows(parts)
  await withLease(parts, 'crl-upkeep', LEASE_SECONDS, async (lease) => {
    const { issuedAt } = await refreshIfDue(parts, { job: 'crl-upkeep' }, lease)
    // While the list is dated in the future, no list is due and verifiers refuse it. Reported every minute, not only
    // when the next list is signed.
    if (isInFuture(issuedAt, parts.clock.now())) reportInFuture(parts, 'crl', issuedAt)
  })
}

/** After a failure to sign a list, requests wait this long before the next attempt. The job tries every minute. */
const TRY_AGAIN = seconds(10)

/**
 * GET /crl
 * Returns the active list, byte for byte as signed. The first request of a new network creates the empty list. A
 * request made when the next version is due gets that version.
 */
export function current(call: Call, parts: CrlState): Promise<CachedDocument> {
  return serveList(parts, requestDetails(call))
}

/** Returns the current list outside a request. `cause` is audited if a new version is signed. */
export function serveList(parts: CrlState, cause: JsonObject): Promise<CachedDocument> {
  const served = parts.publishedDocuments.serve(parts, 'crl', {
    isDue: ({ times }, versions, now) => times === undefined || isListDue(times, versions, now),
    load: async () => {
      const { version, times } = await bringUpToDate(parts, cause)
      const document = await loadDocument(parts, version, CACHE_CONTROL.publishedDocuments)
      return { document, validUntil: version.nextUpdate, times }
    },
  })
  return served.catch(refuseContention)
}

async function loadDocument(parts: CrlState, version: CrlVersion, cacheControl: string): Promise<CachedDocument> {
  const built = parts.entries.find(version)
  // A large list that this process built is not read back.
  if (isLarge(built)) return toDocument(built.bytes, cacheControl, built.digest, built.head_json)
  return readDocument(parts.database.read, await loadList(parts.database.read, version.sequence), cacheControl)
}

interface Current {
  readonly version: CrlVersion
  readonly times: ListTimes
}

/** A list that cannot be signed again is served until its end, because its signature is still valid (reliability 2). */
async function bringUpToDate(parts: CrlState, cause: JsonObject): Promise<Current> {
  try {
    const version = await refreshIfDue(parts, cause)
    return { version, times: listTimes(version) }
  } catch (error) {
    if (translateDatabaseError(error) instanceof LockTimeoutError) throw error
    const stored = await findActiveVersion(parts.database.read)
    const now = parts.clock.now()
    if (stored === undefined || now >= stored.nextUpdate) throw error
    parts.log.error('cannot sign the revocation list again', { alarm: true, error })
    return { version: stored, times: { refreshAt: now + TRY_AGAIN, gatherAt: now + TRY_AGAIN } }
  }
}

function refuseContention(error: unknown): never {
  if (translateDatabaseError(error) instanceof LockTimeoutError)
    throw new Refusal('crl_publish_contention', {}, { cause: error })
  throw error
}
