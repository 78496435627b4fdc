import { entriesOfScan, fromUtf8, isAuthenticScan, markOfScan, scanRevocationList } from '@chancery/protocol'
import type { ScannedList } from '@chancery/protocol'
import { toAnswerError } from './answer.ts'
import type { ReadAnswer } from './answer.ts'
import type { Listed, OfferedList } from './verify/relying-party.ts'

/** A list that is walked over and not made into values: it costs little more than its bytes. */
export const scannedList: ReadAnswer<OfferedList> = (incoming) => {
  const list = scanRevocationList(incoming.body)
  if (list === undefined) throw toAnswerError(incoming, 'it is no revocation list')
  return {
    issuer: list.issuer,
    isAuthentic: (anchors) => isAuthenticScan(list, anchors),
    get mark() {
      return markOfScan(list)
    },
    get revoked_certificates() {
      return textsOf(list)
    },
  }
}

function* textsOf(list: ScannedList): Generator<Listed> {
  for (const { id, reason, revokedAt } of entriesOfScan(list))
    yield { certificate_id: fromUtf8(id) ?? '', reason: fromUtf8(reason) ?? '', revoked_at: fromUtf8(revokedAt) ?? '' }
}
