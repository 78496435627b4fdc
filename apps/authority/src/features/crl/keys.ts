import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { type JsonObject, member, readInstant, readJson, toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { CrlState } from './state.ts'
import type { CrlParts } from './parts.ts'
import type { ServedDocument } from '../../requests/published-documents.ts'
import { findSuccession } from '../../signing/newest-block.ts'
import { current } from './current.ts'
import { findFormerList } from './former-key-list.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'

/**
 * GET /crl/keys/{key_id}
 * Returns the list of one key of this authority: the active list, that of an announced key, or that of a former key while
 * its certificates are in use. Gateways use this address, so that a key succession changes no address.
 */
export async function keys(call: Call, parts: CrlState): Promise<CachedDocument> {
  const keyId = call.params['key_id'] ?? ''
  if (keyId === parts.signing.keyId) return current(call, parts)
  const newest = await parts.newestBlock.readOrLast()
  if (newest?.phase === 'announced' && newest.keyId === keyId) return serveKeyList(parts, keyId, loadFirstList)
  // Only keys of the history are cached, because callers choose the id.
  if (!parts.keys.former.some(({ key_id }) => key_id === keyId)) throw new Refusal('key_list_not_found')
  return serveKeyList(parts, keyId, loadFormerList)
}

/** Caches the list of the former key, if one is in use, so that it is served while the database is unavailable. */
export async function cacheFormerList(parts: CrlParts): Promise<void> {
  const live = await findLiveFormerKey(parts.database.read, parts.clock.now())
  if (live !== undefined) await serveKeyList(parts, live.key_id, loadFormerList)
}

function serveKeyList(
  parts: CrlParts,
  keyId: string,
  load: (parts: CrlParts, keyId: string) => Promise<ServedDocument>,
): Promise<CachedDocument> {
  const source = {
    load: () => load(parts, keyId),
    // Retiring a key changes no list. Its list ends by time alone.
    isDue: ({ validUntil }: ServedDocument) => validUntil === undefined || parts.clock.now() >= validUntil,
  }
  return parts.publishedDocuments.serve(parts, 'crl', source, { name: `crl-key-${keyId}` })
}

async function loadFormerList(parts: CrlParts, keyId: string): Promise<ServedDocument> {
  const db = parts.database.read
  const live = await findLiveFormerKey(db, parts.clock.now())
  const list = live?.key_id === keyId ? await findFormerList(db, keyId) : undefined
  const [end, listsUntil] = [readInstant(list?.next_update ?? ''), readInstant(live?.lists_until ?? '')]
  if (list === undefined || end === undefined || listsUntil === undefined) throw new Refusal('key_list_not_found')
  const document = new CachedDocument(toUtf8(list.crl_json), CACHE_CONTROL.publishedDocuments)
  return { document, validUntil: end < listsUntil ? end : listsUntil }
}

/** The list of the announced key, which is signed again until the switch. */
async function loadFirstList({ database, clock }: CrlParts, keyId: string): Promise<ServedDocument> {
  const stored = await findSuccession(database.read)
  const text = stored?.phase === 'announced' && stored.key_id === keyId ? stored.first_list_json : null
  const end = text === null ? undefined : member(readJson(text) as JsonObject, 'next_update')
  const validUntil = typeof end === 'string' ? readInstant(end) : undefined
  if (text === null || validUntil === undefined || clock.now() >= validUntil) throw new Refusal('key_list_not_found')
  return { document: new CachedDocument(toUtf8(text), CACHE_CONTROL.publishedDocuments), validUntil }
}
