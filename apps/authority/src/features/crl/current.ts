import { CACHE_CONTROL } from '@chancery/contract'
import { instantOf, readCrl, readJson, toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { publishCrl } from './publish.ts'
import { findActiveCrl } from './store.ts'
import type { StoredCrl } from './store.ts'

/**
 * GET /crl
 * The active list, byte for byte as it was signed. The first reader of a new network causes the empty one.
 */
export function current(call: Call, office: Office): Promise<KeptDocument> {
  return office.publicMaterial.serve(office, 'crl', async () => {
    const stored = (await findActiveCrl(office.store.db)) ?? (await createFirst(call, office))
    const { next_update } = readCrl(readJson(stored.crl_json))
    const document = new KeptDocument(toUtf8(stored.crl_json), CACHE_CONTROL.publicMaterial)
    return { document, goodUntil: instantOf(next_update) }
  })
}

function createFirst(call: Call, office: Office): Promise<StoredCrl> {
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'crl')
    const active = await findActiveCrl(tx)
    if (active !== undefined) return active
    const details = { request_id: call.requestId, remote_addr: call.remoteAddress }
    return publishCrl(tx, office, { previous: undefined, sequence: 0, entries: [], cause: 'refresh', details })
  })
}
