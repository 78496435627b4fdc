import { createHash } from 'node:crypto'
import { LIST_HEAD_HEADER, writeListHeadHeader } from '@chancery/protocol'
import { CachedDocument, RareDocument, endOfLoopTurn } from '@chancery/service-kit'
import type { Reader } from '../../database/database.ts'
import { type StoredList, loadListBytes } from '../../database/list-segments.ts'

/** A stored list as it is served. */
export async function readDocument(db: Reader, list: StoredList, cacheControl: string): Promise<CachedDocument> {
  const bytes = await loadListBytes(db, list)
  return toDocument(bytes, cacheControl, await digestInTurns(bytes), list.head_json)
}

/** A stored list for one caller. */
export async function readRareDocument(db: Reader, list: StoredList, cacheControl: string): Promise<RareDocument> {
  const bytes = await loadListBytes(db, list)
  const { etag, more } = factsOf(await digestInTurns(bytes), list.head_json)
  return new RareDocument(bytes, cacheControl, undefined, etag, more)
}

/** Bytes hashed in one turn of the event loop: about a millisecond. */
const SLICE = 1_048_576

/** The thread pool would copy all bytes on the event loop first. */
async function digestInTurns(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += SLICE) {
    if (at > 0) await endOfLoopTurn()
    hash.update(bytes.subarray(at, at + SLICE))
  }
  return hash.digest('hex')
}

/** A list as it is served; `digest` is the SHA-256 of its bytes. */
export function toDocument(
  bytes: Uint8Array,
  cacheControl: string,
  digest: string,
  head: string | null,
): CachedDocument {
  const { etag, more } = factsOf(digest, head)
  return new CachedDocument(bytes, cacheControl, undefined, etag, more)
}

function factsOf(
  digest: string,
  head: string | null,
): { readonly etag: string; readonly more: Record<string, string> } {
  const etag = `"${Buffer.from(digest, 'hex').toString('base64url')}"`
  return { etag, more: head === null ? {} : { [LIST_HEAD_HEADER]: writeListHeadHeader(head) } }
}
