import { type CrlEntry, isJsonObject, readJson, toUtf8, verifySignature } from '@chancery/protocol'

const [ENTRIES, AFTER_ENTRIES, SIGNATURES] = ['"revoked_certificates":[', '],"sequence":', ',"signatures":[']

/**
 * Returns the entries of a stored list as signed, joined. Undefined unless one of the keys signed exactly this text
 * with this sequence. The stored text is the signed one, so nothing is parsed: a list may be megabytes.
 */
export async function signedEntries(
  text: string,
  sequence: number,
  keys: readonly string[],
): Promise<string | undefined> {
  const end = text.lastIndexOf(SIGNATURES)
  const body = `${text.slice(0, Math.max(end, 0))}}`
  const [from, to] = [body.indexOf(ENTRIES), body.lastIndexOf(AFTER_ENTRIES)]
  if (end === -1 || from === -1 || to < from || body.slice(to) !== `${AFTER_ENTRIES}${sequence}}`) return undefined
  const sig = readSignature(text.slice(end + SIGNATURES.length, -2))
  if (sig === undefined) return undefined
  const message = toUtf8(body)
  for (const key of keys) if (await verifySignature(key, message, sig)) return body.slice(from + ENTRIES.length, to)
  return undefined
}

function readSignature(text: string): string | undefined {
  try {
    const value = readJson(text)
    const sig = isJsonObject(value) ? value['sig'] : undefined
    return typeof sig === 'string' ? sig : undefined
  } catch {
    return undefined
  }
}

/** Splits into one text per entry. No value of an entry contains a brace: ids, times, reasons and key ids have none. */
export function splitEntries(entries: string): readonly string[] {
  if (entries === '') return []
  const parts = entries.split('},{')
  return parts.map((part, at) => `${at === 0 ? '' : '{'}${part}${at === parts.length - 1 ? '' : '}'}`)
}

/** Undefined when the text is not an entry. */
export function readEntry(text: string): Pick<CrlEntry, 'certificate_id' | 'reason' | 'revoked_at'> | undefined {
  try {
    const value = readJson(text)
    if (!isJsonObject(value)) return undefined
    const { certificate_id, reason, revoked_at } = value
    const isWhole = [certificate_id, reason, revoked_at].every((each) => typeof each === 'string')
    return isWhole ? (value as unknown as CrlEntry) : undefined
  } catch {
    return undefined
  }
}
