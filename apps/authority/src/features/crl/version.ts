import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { CachedDocument, type Call, FairQueue, Shares } from '@chancery/service-kit'
import type { Database } from '../../database/database.ts'
import { findList } from '../../database/list-segments.ts'
import { current } from './current.ts'
import { headOf } from './delta.ts'
import { readRareDocument } from './list-document.ts'
import { readListMembers } from './list-members.ts'
import type { CrlState } from './state.ts'

/** Callers that wait for an earlier version, at most; of one address half of them. */
const MAX_WAITING = 16
/** A large version takes a second of processor time, so its address pauses before it gets the next one. */
const TURNS = { atOnce: 1, shortMs: 50, restFactor: 9, restMaxMs: 5000 }

const immutableCopies = new WeakMap<CachedDocument, { readonly sequence: number; readonly document: CachedDocument }>()

/**
 * GET /crl/{sequence}
 * Returns one stored version, as signed. The address never gets other content, so a cache may store it for a year.
 */
export async function version(
  call: Call,
  parts: CrlState,
  versions: { read(sequence: number, address: string): Promise<CachedDocument> },
): Promise<CachedDocument> {
  const asked = call.params['sequence'] ?? ''
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(asked)) throw new Refusal('crl_version_not_found')
  const list = await current(call, parts)
  const copy = immutableCopies.get(list) ?? { sequence: readListMembers(list).sequence, document: immutableCopy(list) }
  immutableCopies.set(list, copy)
  if (Number(asked) === copy.sequence) return copy.document
  if (Number(asked) > copy.sequence) throw new Refusal('crl_version_not_found')
  return versions.read(Number(asked), call.limitKey)
}

function immutableCopy(list: CachedDocument): CachedDocument {
  return new CachedDocument(list.bytes, CACHE_CONTROL.publishedVersion, undefined, list.etag, headOf(list))
}

/** Earlier versions, read one at a time: each may be megabytes, and anyone may ask for all of them. */
export class StoredVersions {
  readonly #turns = new FairQueue(TURNS)
  readonly #waiting = new Shares(MAX_WAITING, 1)

  async read(sequence: number, address: string, database: Pick<Database, 'read'>): Promise<CachedDocument> {
    if (!this.#waiting.take(address)) throw new Refusal('service_unavailable', { reason: 'busy' })
    const turn = this.#turns.take(address)
    try {
      await turn.granted
      return await this.#load(sequence, database)
    } finally {
      turn.end()
      this.#waiting.give(address)
    }
  }

  async #load(sequence: number, { read }: Pick<Database, 'read'>): Promise<CachedDocument> {
    const found = await findList(read, sequence)
    if (found === undefined) throw new Refusal('crl_version_not_found')
    return readRareDocument(read, found, CACHE_CONTROL.publishedVersion)
  }
}
