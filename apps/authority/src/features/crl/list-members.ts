import { type Crl, fromUtf8, isJsonObject, readCrl, readJson } from '@chancery/protocol'
import type { CachedDocument } from '@chancery/service-kit'

const [ENTRIES, AFTER_ENTRIES] = [',"revoked_certificates":[', '],"sequence":']
/** Both ends of a list are short: key ids have at most 128 characters. */
const END_BYTES = 8192

export type ListMembers = Omit<Crl, 'revoked_certificates'>

/**
 * The members of a served list besides its entries, read from both ends of its bytes: a list may be many megabytes. The
 * bytes are canonical, so no text in them contains these words with their quotes.
 */
export function readListMembers({ bytes }: CachedDocument): ListMembers {
  const start = fromUtf8(bytes.subarray(0, END_BYTES))
  const end = fromUtf8(bytes.subarray(-END_BYTES))
  const [head, tail] = [start?.indexOf(ENTRIES) ?? -1, end?.lastIndexOf(AFTER_ENTRIES) ?? -1]
  if (start === undefined || end === undefined || head < 0 || tail < 0)
    throw new Error('the served list has another form')
  const value = readJson(`${start.slice(0, head)}${ENTRIES}${end.slice(tail)}`)
  if (!isJsonObject(value)) throw new Error('the served list has another form')
  const { revoked_certificates: _none, ...members } = readCrl(value)
  return members
}
