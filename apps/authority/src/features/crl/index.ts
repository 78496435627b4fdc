import { crl } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { revoke } from './revoke.ts'
import type { Feature } from '../../core.ts'
import type { Crl as CrlRecord } from '@chancery/protocol'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import type { Transaction } from '../../database/database.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { current, serveList } from './current.ts'
import { EntriesCache } from './entries-cache.ts'
import { DeltaCache } from './delta-cache.ts'
import { delta } from './delta.ts'
import { type FirstListKeys, draftFirstList, renewFirstList } from './first-list.ts'
import { type Succession, runKeySuccession } from './key-succession.ts'
import { cacheFormerList, keys } from './keys.ts'
import { ListBuilder } from './list-builder.ts'
import { ListDeltas } from './list-deltas.ts'
import type { CrlParts } from './parts.ts'
import type { CrlVersion } from './queries.ts'
import { refreshList } from './refresh.job.ts'
import { removeOldLists } from './remove.job.ts'
import { resignList, restoreDropped, restoreEntries } from './restore-entries.ts'
import { RevocationBatch } from './revocation-batch.ts'
import type { Revocation, RevocationOutcome } from './revocation.ts'
import { StoredVersions, version } from './version.ts'
import { warmList } from './warm-list.ts'

export { FIRST_LIST_HOURS } from './first-list.ts'
export type { FirstListKeys } from './first-list.ts'
export { KeySuccessionError } from './key-succession-error.ts'
export type { Succession } from './key-succession.ts'
export { findListFault } from './continuity.ts'
export { LARGE_PART, SHRINK_LIST, partOfBound } from './size.ts'
export { findActiveVersion } from './queries.ts'
export type { CrlVersion } from './queries.ts'
export { NO_TEXT, lostByKey, lostByText, insertLost, isOurs } from './unknown-certificates.ts'
export type { LostCertificate } from './unknown-certificates.ts'

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
