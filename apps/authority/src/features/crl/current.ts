import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { LockTimeout } from '../../store/database.ts'
import { translateStoreError } from '../../store/open.ts'
import { loadCrlText } from './store.ts'
import { isListDue, keepCurrent, refreshTime } from './upkeep.ts'

/**
 * GET /crl
 * The active list, byte for byte as it was signed. The first reader of a new network causes the empty one, and a
 * reader who comes when the next version is due gets that.
 */
export function current(call: Call, office: Office): Promise<KeptDocument> {
  const served = office.publicMaterial.serve(office, 'crl', {
    isDue: (held, stamps, now) => isListDue(held.refreshAt ?? now, stamps, now),
    load: async () => {
      const version = await keepCurrent(office, { request_id: call.requestId, remote_addr: call.remoteAddress })
      const text = await loadCrlText(office.store.db, version.sequence)
      const document = new KeptDocument(toUtf8(text), CACHE_CONTROL.publicMaterial)
      return { document, goodUntil: version.nextUpdate, refreshAt: refreshTime(version) }
    },
  })
  return served.catch(refuseContention)
}

function refuseContention(error: unknown): never {
  if (translateStoreError(error) instanceof LockTimeout)
    throw new Refusal('crl_publish_contention', {}, { cause: error })
  throw error
}
