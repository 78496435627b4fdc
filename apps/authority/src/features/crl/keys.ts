import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { readInstant, toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import type { ReadyDocument } from '../public-material.ts'
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
  // Only a key of the history has a place in memory: callers choose the id.
  if (!office.ownKeys.former.some(({ key_id }) => key_id === keyId)) throw new Refusal('key_list_not_found')
  return serveFormerList(office, keyId)
}

/** Takes the list of the former key into memory, where one is in use, so that it is served while the database is away. */
export async function holdFormerList(office: Office): Promise<void> {
  const live = await findLiveFormer(office.store.db, office.clock.now())
  if (live !== undefined) await serveFormerList(office, live.key_id)
}

function serveFormerList(office: Office, keyId: string): Promise<KeptDocument> {
  const source = {
    load: () => loadFormerList(office, keyId),
    // Retiring a key changes no list, and its list ends by time alone.
    isDue: ({ goodUntil }: ReadyDocument) => goodUntil === undefined || office.clock.now() >= goodUntil,
  }
  return office.publicMaterial.serve(office, 'crl', source, { name: `crl-key-${keyId}` })
}

async function loadFormerList(office: Office, keyId: string): Promise<ReadyDocument> {
  const { db } = office.store
  const live = await findLiveFormer(db, office.clock.now())
  const list = live?.key_id === keyId ? await findFormerList(db, keyId) : undefined
  const [end, listsUntil] = [readInstant(list?.next_update ?? ''), readInstant(live?.lists_until ?? '')]
  if (list === undefined || end === undefined || listsUntil === undefined) throw new Refusal('key_list_not_found')
  const document = new KeptDocument(toUtf8(list.crl_json), CACHE_CONTROL.publicMaterial)
  return { document, goodUntil: end < listsUntil ? end : listsUntil }
}
