import { LIST_HEAD_HEADER, writeListHeadHeader } from '@chancery/protocol'
import { CachedDocument, etagAside } from '@chancery/service-kit'
import type { Reader } from '../../database/database.ts'
import { loadListBytes } from '../../database/list-segments.ts'
import type { StoredList } from '../../database/list-segments.ts'

/** A stored list as it is served. */
export async function readDocument(db: Reader, list: StoredList, cacheControl: string): Promise<CachedDocument> {
  const bytes = await loadListBytes(db, list)
  return documentOf(bytes, cacheControl, await etagAside(bytes), list.head_json)
}

/** A list as it is served; `digest` is the SHA-256 of its bytes. */
export function toDocument(bytes: Uint8Array, cacheControl: string, digest: string, head: string): CachedDocument {
  return documentOf(bytes, cacheControl, `"${Buffer.from(digest, 'hex').toString('base64url')}"`, head)
}

function documentOf(bytes: Uint8Array, cacheControl: string, etag: string, head: string | null): CachedDocument {
  const more = head === null ? {} : { [LIST_HEAD_HEADER]: writeListHeadHeader(head) }
  return new CachedDocument(bytes, cacheControl, undefined, etag, more)
}
