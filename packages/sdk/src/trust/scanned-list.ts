import {
  CompactCrl,
  DELTA_FROM_BYTES,
  applyListDelta,
  entriesOfScan,
  fromUtf8,
  isAuthenticScan,
  positionOfScan,
  readListDelta,
  releaseBytes,
  scanRevocationList,
} from '@chancery/protocol'
import type { ScannedList } from '@chancery/protocol'
import { type ReadResponse, toResponseError } from '../http/read-response.ts'
import type { Listed, OfferedList } from '../verify/relying-party.ts'

/** A list that is walked over and not made into values: it costs little more than its bytes. */
export const scannedList: ReadResponse<OfferedList> = (incoming) => {
  const list = scanRevocationList(incoming.body)
  if (list === undefined) throw toResponseError(incoming, 'it is no revocation list')
  // The scan has its own copy.
  releaseBytes(incoming.body)
  return toOffered(list)
}

/** The scan behind an offered list, as long as that is held. */
const scans = new WeakMap<OfferedList, ScannedList>()

function toOffered(list: ScannedList): OfferedList {
  const offered: OfferedList = {
    issuer: list.issuer,
    isAuthentic: (anchors) => isAuthenticScan(list, anchors),
    get position() {
      return positionOfScan(list)
    },
    get revoked_certificates() {
      return textsOf(list)
    },
  }
  scans.set(offered, list)
  return offered
}

/** The position of a list that is large enough for deltas. */
export function deltaStart(held: OfferedList | undefined): { readonly sequence: number } | undefined {
  const list = held && scans.get(held)
  return list !== undefined && list.signed.length >= DELTA_FROM_BYTES ? list : undefined
}

/** The list that a delta makes of a held one; `same` when it changes nothing. It is verified as any offered list. */
export function offeredWithDelta(held: OfferedList, bytes: Uint8Array): OfferedList | 'same' | undefined {
  const [list, delta] = [scans.get(held), readListDelta(bytes)]
  if (list === undefined || delta === undefined) return undefined
  if (delta.fromSequence === list.sequence && delta.list.crl_id === list.crl_id) return 'same'
  const next = applyListDelta(list, delta)
  return next && toOffered(next)
}

/** A list of the authority's own form, strictly read, as bytes. */
export const compactCrl: ReadResponse<CompactCrl> = (incoming) => {
  const list = CompactCrl.read(incoming.body)
  if (list === undefined) throw toResponseError(incoming, 'it is no revocation list')
  releaseBytes(incoming.body)
  return list
}

/** Reasons are few texts that are said again and again: of each there is one. */
const MOST_REASONS = 64

function* textsOf(list: ScannedList): Generator<Listed> {
  const reasons = new Map<string, string>()
  for (const { id, reason: reasonBytes, revokedAt } of entriesOfScan(list)) {
    const reason = fromUtf8(reasonBytes) ?? ''
    if (reasons.size < MOST_REASONS && !reasons.has(reason)) reasons.set(reason, reason)
    yield {
      certificate_id: fromUtf8(id) ?? '',
      reason: reasons.get(reason) ?? reason,
      revoked_at: fromUtf8(revokedAt) ?? '',
    }
  }
}
