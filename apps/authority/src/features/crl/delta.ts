import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { LIST_HEAD_HEADER, MAX_DELTA_BYTES, listDeltaText, toUtf8 } from '@chancery/protocol'
import { CachedDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import { current } from './current.ts'
import type { ListDeltas } from './list-deltas.ts'
import { readListMembers } from './list-members.ts'
import type { CrlState } from './state.ts'

/** Maximum size of a delta as a part of the full list. */
const LARGEST_PART = 0.5
/** Deltas of one list that are cached, and their size together. */
const [MAX_CACHED, MAX_CACHED_BYTES] = [4096, 4 * MAX_DELTA_BYTES]

/** The deltas to one list. They end with it. */
interface Cached {
  readonly members: ReturnType<typeof readListMembers>
  /** `none`: the full list is to be read. It is computed once, too. */
  readonly deltas: Map<number, CachedDocument | 'none'>
  bytes: number
}

const caches = new WeakMap<CachedDocument, Cached>()

/**
 * GET /crl/delta?from=SEQUENCE
 * Returns what was added to and removed from the list with this sequence, and the signed members of the current list. The
 * reader rebuilds the current list and verifies its signature. 404 means: load the full list.
 */
export async function delta(call: Call, parts: CrlState, deltas: ListDeltas): Promise<CachedDocument> {
  const from = readFrom(call.query.first('from'))
  const list = await current(call, parts)
  const cached = caches.get(list) ?? { members: readListMembers(list), deltas: new Map(), bytes: 0 }
  caches.set(list, cached)
  const { members } = cached
  const issuer = call.query.first('issuer') ?? members.issuer
  if (issuer !== members.issuer || from > members.sequence) throw new Refusal('crl_delta_not_found')
  const known = cached.deltas.get(from)
  if (known === 'none') throw new Refusal('crl_delta_not_found')
  if (known !== undefined) return known
  const change = from === members.sequence ? { removed: [], added: [] } : await deltas.between(from, members.sequence)
  const text = change && listDeltaText(from, members, change)
  if (text === undefined || text.length > Math.min(MAX_DELTA_BYTES, list.bytes.length * LARGEST_PART)) {
    if (cached.deltas.size < MAX_CACHED) cached.deltas.set(from, 'none')
    throw new Refusal('crl_delta_not_found')
  }
  const document = new CachedDocument(
    toUtf8(text),
    CACHE_CONTROL.publishedDocuments,
    undefined,
    undefined,
    headOf(list),
  )
  if (cached.deltas.size < MAX_CACHED && cached.bytes + document.bytes.length <= MAX_CACHED_BYTES) {
    cached.deltas.set(from, document)
    cached.bytes += document.bytes.length
  }
  return document
}

function readFrom(text: string | undefined): number {
  if (text === undefined || !/^(?:0|[1-9][0-9]{0,14})$/.test(text))
    throw new Refusal('invalid_input', { field: 'from' })
  return Number(text)
}

/** The signed head of the list, which its own response has. */
export function headOf({ headers }: CachedDocument): Readonly<Record<string, string>> {
  const value = headers[headers.indexOf(LIST_HEAD_HEADER) + 1]
  return headers.includes(LIST_HEAD_HEADER) && value !== undefined ? { [LIST_HEAD_HEADER]: value } : {}
}
