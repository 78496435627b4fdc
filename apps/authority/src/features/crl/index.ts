import { CACHE_CONTROL, LIMITS, Refusal, crl } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { RevocationBatch, revoke } from './revoke.ts'
import type { Feature } from '../../core.ts'
import { type Crl as CrlRecord, type JsonObject, member, readInstant, readJson, toUtf8 } from '@chancery/protocol'
import { whenClockIsCorrect } from '../../clock/purge-clock.ts'
import type { Transaction } from '../../database/database.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { current, refreshList, serveList } from './serve-list.ts'
import { type CrlState, EntriesCache } from './entries-cache.ts'
import { DeltaCache } from './delta-cache.ts'
import { StoredVersions, delta, version } from './version.ts'
import { type FirstListKeys, draftFirstList, renewFirstList } from './first-list.ts'
import { type Succession, runKeySuccession } from './key-succession.ts'
import { ListBuilder } from './list-builder.ts'
import { ListDeltas } from './list-deltas.ts'
import { type CrlParts, findFormerList } from './lists.ts'
import type { CrlVersion } from './queries.ts'
import { removeOldLists } from './remove.job.ts'
import { resignList, restoreDropped, restoreEntries } from './restore-entries.ts'
import type { Revocation, RevocationOutcome } from './revocation.ts'
import { warmList } from './warm-list.ts'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { ServedDocument } from '../../requests/published-documents.ts'
import { findSuccession } from '../../signing/newest-block.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'

export { FIRST_LIST_HOURS } from './first-list.ts'
export type { FirstListKeys } from './first-list.ts'
export { KeySuccessionError } from './first-list.ts'
export type { Succession } from './key-succession.ts'
export { findListFault } from './continuity.ts'
export { findActiveVersion } from './queries.ts'
export type { CrlVersion } from './queries.ts'
export { NO_TEXT, lostByKey, lostByText, insertLost, isOurs } from './unknown-certificates.ts'
export type { LostCertificate } from './unknown-certificates.ts'

/**
 * GET /crl/keys/{key_id}
 * Returns the list of one key of this authority: the active list, that of an announced key, or that of a former key while
 * its certificates are in use. Gateways use this address, so that a key succession changes no address.
 */
async function keys(call: Call, parts: CrlState): Promise<CachedDocument> {
  const keyId = call.params['key_id'] ?? ''
  if (keyId === parts.signing.keyId) return current(call, parts)
  const newest = await parts.newestBlock.readOrLast()
  if (newest?.phase === 'announced' && newest.keyId === keyId) return serveKeyList(parts, keyId, loadFirstList)
  // Only keys of the history are cached, because callers choose the id.
  if (!parts.keys.former.some(({ key_id }) => key_id === keyId)) throw new Refusal('key_list_not_found')
  return serveKeyList(parts, keyId, loadFormerList)
}

/** Caches the list of the former key, if one is in use, so that it is served while the database is unavailable. */
async function cacheFormerList(parts: CrlParts): Promise<void> {
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

/** From this part of the readers' limit on, an operator must act, because readers refuse a list above the limit. */
export const LARGE_PART = 0.5

/** Returns the size of the current list as a part of its readers' limit. Undefined when its size is unknown. */
export function partOfBound(active: CrlVersion | undefined): number | undefined {
  return active?.bytes === undefined ? undefined : active.bytes / LIMITS.listReaderBytes
}

export const SHRINK_LIST =
  'Issue shorter certificates, so that entries end sooner, or raise the bound of every reader (GATEWAY_MAX_LIST_BYTES, maxResponseBytes): docs/operate/capacity.md.'

export interface Crl extends Feature {
  revoke(revocation: Revocation): Promise<RevocationOutcome>
  /** Reads the current list, and caches it. */
  readonly serveList: () => Promise<unknown>
  readonly cacheFormerList: () => Promise<void>
  draftFirstList(keys: FirstListKeys): Promise<string>
  /** `within` runs in the same transaction: it signs other records again with the new key. */
  runKeySuccession(within?: (tx: Transaction) => Promise<void>): Promise<Succession>
  resignList(tx: Transaction, previous: CrlVersion): Promise<number>
  restoreEntries(tx: Transaction, list: CrlRecord, sequence: number): Promise<number>
  restoreDropped(tx: Transaction): Promise<{ readonly sequence: number; readonly added: number } | undefined>
}

export function openCrl(given: CrlParts): Crl {
  const parts = forRevocations(given)
  const own = { ...parts, entries: new EntriesCache(), builder: new ListBuilder() }
  const batch = new RevocationBatch(own)
  const handlerParts = { ...own, batch }
  const source = { deltas: new ListDeltas(parts), cache: new DeltaCache() }
  const versions = new StoredVersions()
  return {
    routes: [
      bind(crl.current, (call) => current(call, handlerParts)),
      bind(crl.keys, (call) => keys(call, handlerParts)),
      bind(crl.delta, (call) => delta(call, handlerParts, source)),
      bindRead(crl.version, parts, (call, database) =>
        version(call, handlerParts, { read: (sequence, address) => versions.read(sequence, address, database) }),
      ),
      bind(crl.revoke, (call) => revoke(call, handlerParts)),
    ],
    jobs: [
      {
        name: 'crl-refresh',
        everySeconds: 60,
        run: async (signal) => {
          await refreshList(own)
          await renewFirstList(own)
          await warmList(own, signal)
        },
      },
      {
        name: 'crl-removal',
        everySeconds: 600,
        run: whenClockIsCorrect(parts.clockCheck, (signal) => removeOldLists(own, signal)),
      },
    ],
    revoke: (revocation) => batch.revoke(revocation),
    serveList: () => serveList(own, {}),
    cacheFormerList: () => cacheFormerList(own),
    draftFirstList: (listKeys) => draftFirstList(own, listKeys),
    runKeySuccession: (within) => runKeySuccession(own, within),
    resignList: (tx, previous) => resignList(tx, own, previous),
    restoreEntries: (tx, list, sequence) => restoreEntries(tx, own, list, sequence),
    restoreDropped: (tx) => restoreDropped(tx, own),
    async close() {
      await batch.close()
      await own.builder.close()
    },
  }
}
