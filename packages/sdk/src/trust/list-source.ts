import { crl, sovereign } from '@chancery/contract'
import { fromUtf8 } from '@chancery/protocol'
import type { CrlApi } from '../api/crl.ts'
import { RefusedError } from '../errors.ts'
import type { Connection } from '../http/call.ts'
import { json } from '../http/read-response.ts'
import type { KeySource } from '../node/followed.ts'
import { scannedList } from './scanned-list.ts'

/** Where a relying party reads keys and lists: a client, or only these calls. */
export interface ListSource extends KeySource {
  readonly crl: Pick<CrlApi, 'scanned' | 'scannedOfKey' | 'delta'>
}

/** Reads keys and lists over a connection. `onList` gets the text of every full list that was read. */
export function listSource({ call }: Connection, onList: (text: string) => void): ListSource {
  const { current, delta, keys } = crl
  const { keySuccession } = sovereign
  return {
    crl: {
      scanned: (options) =>
        call({
          route: current,
          read: (incoming) => {
            const text = fromUtf8(incoming.body)
            const list = scannedList(incoming)
            if (text !== undefined) onList(text)
            return list
          },
          options,
        }),
      scannedOfKey: (key_id, options) => call({ route: keys, params: { key_id }, read: scannedList, options }),
      delta: (from, issuer, options) =>
        call({ route: delta, query: { from, issuer }, read: ({ body }) => body, options }).catch((error: unknown) => {
          if (error instanceof RefusedError && error.status === 404) return undefined
          throw error
        }),
    },
    sovereign: {
      keySuccession: (options) =>
        call({ route: keySuccession, read: json((value) => keySuccession.answer(value, '')), options }),
    },
  }
}
