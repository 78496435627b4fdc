import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { LIST_HEAD_HEADER, seconds, toUtf8, writeListHeadHeader } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { LockTimeout } from '../../store/database.ts'
import { translateStoreError } from '../../store/open.ts'
import { findActiveVersion, loadCrl } from './store.ts'
import type { CrlVersion } from './store.ts'
import { isListDue, keepCurrent, listTimes } from './upkeep.ts'
import type { ListTimes } from './upkeep.ts'

/** After a list could not be signed, readers wait so long before one of them tries again. The job tries every minute. */
const TRY_AGAIN = seconds(10)

/**
 * GET /crl
 * The active list, byte for byte as it was signed. The first reader of a new network causes the empty one, and a
 * reader who comes when the next version is due gets that.
 */
export function current(call: Call, office: Office): Promise<KeptDocument> {
  return serveList(office, { request_id: call.requestId, remote_addr: call.remoteAddress })
}

/** The same for whoever is no request: `cause` is for the audit, should a new version be signed. */
export function serveList(office: Office, cause: JsonObject): Promise<KeptDocument> {
  const served = office.publicMaterial.serve(office, 'crl', {
    isDue: ({ times }, stamps, now) => times === undefined || isListDue(times, stamps, now),
    load: async () => {
      const { version, times } = await bringUpToDate(office, cause)
      const { crl_json, head_json } = await loadCrl(office.store.db, version.sequence)
      const more = head_json === null ? {} : { [LIST_HEAD_HEADER]: writeListHeadHeader(head_json) }
      const document = new KeptDocument(toUtf8(crl_json), CACHE_CONTROL.publicMaterial, undefined, undefined, more)
      return { document, goodUntil: version.nextUpdate, times }
    },
  })
  return served.catch(refuseContention)
}

interface Current {
  readonly version: CrlVersion
  readonly times: ListTimes
}

/** A list that cannot be signed again is served until its end: its signature still holds (reliability 2). */
async function bringUpToDate(office: Office, cause: JsonObject): Promise<Current> {
  try {
    const version = await keepCurrent(office, cause)
    return { version, times: listTimes(version) }
  } catch (error) {
    if (translateStoreError(error) instanceof LockTimeout) throw error
    const held = await findActiveVersion(office.store.db)
    const now = office.clock.now()
    if (held === undefined || now >= held.nextUpdate) throw error
    office.log.error('the revocation list could not be signed again', { alarm: true, error })
    return { version: held, times: { refreshAt: now + TRY_AGAIN, gatherAt: now + TRY_AGAIN } }
  }
}

function refuseContention(error: unknown): never {
  if (translateStoreError(error) instanceof LockTimeout)
    throw new Refusal('crl_publish_contention', {}, { cause: error })
  throw error
}
