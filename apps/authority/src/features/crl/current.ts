import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { type JsonObject, seconds } from '@chancery/protocol'
import type { CachedDocument, Call } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { CrlState } from './state.ts'
import { LockTimeoutError } from '../../database/errors.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { isLarge } from './entries-cache.ts'
import { readDocument, toDocument } from './list-document.ts'
import { type CrlVersion, findActiveVersion, loadList } from './queries.ts'
import { type ListTimes, isListDue, listTimes, refreshIfDue } from './refresh.job.ts'

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
