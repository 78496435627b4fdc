import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { current } from './current.ts'
import { findFormerList, findLiveFormer } from './former.ts'

/**
 * GET /crl/keys/{key_id}
 * The list of one key of this authority: the active one, or that of a former key while its certificates are in use.
 * Gateways are pointed here, so that a key succession changes no address.
 */
export async function keys(call: Call, office: Office): Promise<KeptDocument> {
  const keyId = call.params['key_id'] ?? ''
  if (keyId === office.signer.keyId) return current(call, office)
  const { db } = office.store
  const live = await findLiveFormer(db, office.clock.now())
  const list = live?.key_id === keyId ? await findFormerList(db, keyId) : undefined
  if (list === undefined) throw new Refusal('key_list_not_found')
  return new KeptDocument(toUtf8(list.crl_json), CACHE_CONTROL.publicMaterial)
}
