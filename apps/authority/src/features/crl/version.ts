import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { CachedDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Database } from '../../database/database.ts'
import { findList } from '../../database/list-segments.ts'
import { current } from './current.ts'
import { headOf } from './delta.ts'
import { readDocument } from './list-document.ts'
import { readListMembers } from './list-members.ts'
import type { CrlState } from './state.ts'

/** Callers that wait for an earlier version, at most. */
const MAX_WAITING = 8

const immutableCopies = new WeakMap<CachedDocument, { readonly sequence: number; readonly document: CachedDocument }>()

/**
 * GET /crl/{sequence}
 * Returns one stored version, as signed. The address never gets other content, so a cache may store it for a year.
 */
export async function version(
  call: Call,
  parts: CrlState,
  versions: { read(sequence: number): Promise<CachedDocument> },
): Promise<CachedDocument> {
  const asked = call.params['sequence'] ?? ''
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(asked)) throw new Refusal('crl_version_not_found')
  const list = await current(call, parts)
  const copy = immutableCopies.get(list) ?? { sequence: readListMembers(list).sequence, document: immutableCopy(list) }
  immutableCopies.set(list, copy)
  if (Number(asked) === copy.sequence) return copy.document
  if (Number(asked) > copy.sequence) throw new Refusal('crl_version_not_found')
  return versions.read(Number(asked))
}

function immutableCopy(list: CachedDocument): CachedDocument {
  return new CachedDocument(list.bytes, CACHE_CONTROL.publishedVersion, undefined, list.etag, headOf(list))
}

/** Earlier versions, read one at a time: each may be megabytes, and anyone may ask for all of them. */
export class StoredVersions {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  async read(sequence: number, database: Pick<Database, 'read'>): Promise<CachedDocument> {
    if (this.#waiting >= MAX_WAITING) throw new Refusal('service_unavailable', { reason: 'busy' })
    this.#waiting += 1
    const read = this.#last.then(() => this.#load(sequence, database))
    this.#last = read.catch(() => undefined)
    return read.finally(() => (this.#waiting -= 1))
  }

  async #load(sequence: number, { read }: Pick<Database, 'read'>): Promise<CachedDocument> {
    const found = await findList(read, sequence)
    if (found === undefined) throw new Refusal('crl_version_not_found')
    return readDocument(read, found, CACHE_CONTROL.publishedVersion)
  }
}
