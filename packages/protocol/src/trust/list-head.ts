import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { canonicalBytes } from '../canonical/canonical-json.ts'
import { readJsonBytes } from '../canonical/read-json.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { closed, integer, readRecord, required, string } from '../reading/shape.ts'
import { requireOrder, signatures, timestamp } from '../reading/text.ts'
import { type Signature, verifySignature } from '../signing/keys.ts'

/**
 * What an authority signs with each list and sends in the header of every response that contains it: a reader that cannot
 * take the list in still learns, by signature, that there is a newer one. No member is named as in a list, so that
 * neither reads as the other.
 */
export type ListHead = {
  readonly list_id: string
  readonly list_sequence: number
  /** Of the list in force, plain. */
  readonly list_bytes: number
  readonly list_entries: number
  readonly issued_at: string
  readonly next_update: string
  readonly issuer: string
  readonly signatures: readonly Signature[]
}

export const LIST_HEAD_HEADER = 'Chancery-List-Head'
const MAX_HEADER_CHARACTERS = 4096

const count = required(integer(0, Number.MAX_SAFE_INTEGER))
const shape = closed({
  list_id: required(string),
  list_sequence: count,
  list_bytes: count,
  list_entries: count,
  issued_at: required(timestamp),
  next_update: required(timestamp),
  issuer: required(string),
  signatures: required(signatures),
})

/** Returns the text of a signed head for the header. */
export function writeListHeadHeader(text: string): string {
  return toBase64(toUtf8(text))
}

/** The head of a list of this issuer, when the header holds one that the pinned key signed; undefined for all else. */
export async function readListHeadHeader(
  value: string,
  issuer: string,
  anchors: ReadonlyMap<string, Uint8Array>,
): Promise<ListHead | undefined> {
  const key = anchors.get(issuer)
  const head = value.length > MAX_HEADER_CHARACTERS ? undefined : readHead(value)
  if (key === undefined || head?.issuer !== issuer) return undefined
  const { signatures: all, ...rest } = head
  const message = canonicalBytes(rest)
  for (const { key_id, sig } of all) if (key_id === issuer && (await verifySignature(key, message, sig))) return head
  return undefined
}

function readHead(value: string): ListHead | undefined {
  const bytes = fromBase64(value)
  if (bytes === undefined) return undefined
  return readOrUndefined(() => {
    const head = readRecord(shape, readJsonBytes(bytes))
    requireOrder(head, 'issued_at', '<', 'next_update')
    return head
  })
}
