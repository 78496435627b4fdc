import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { LIST_HEAD_HEADER, MAX_DELTA_BYTES, listDeltaText, toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import { current } from './current.ts'
import type { ComputedDelta, DeltaCache } from './delta-cache.ts'
import type { ListDeltas } from './list-deltas.ts'
import { type ListMembers, readListMembers } from './list-members.ts'
import type { CrlState } from './state.ts'

/** Maximum size of a delta as a part of the full list. */
const LARGEST_PART = 0.5

const membersOf = new WeakMap<CachedDocument, ListMembers>()

/**
 * GET /crl/delta?from=SEQUENCE
 * Returns what was added to and removed from the list with this sequence, and the signed members of the current list. The
 * reader rebuilds the current list and verifies its signature. 404 means: load the full list.
 */
export async function delta(
  call: Call,
  parts: CrlState,
  { deltas, cache }: { readonly deltas: ListDeltas; readonly cache: DeltaCache },
): Promise<CachedDocument> {
  const from = readFrom(call.query.first('from'))
  const list = await current(call, parts)
  const members = membersOf.get(list) ?? readListMembers(list)
  membersOf.set(list, members)
  const issuer = call.query.first('issuer') ?? members.issuer
  if (issuer !== members.issuer || from > members.sequence) throw new Refusal('crl_delta_not_found')
  const compute = (): Promise<ComputedDelta> => computeDelta(list, members, from, deltas)
  const found = await cache.read(list, from, call.limitKey, compute)
  if (found === 'none') throw new Refusal('crl_delta_not_found')
  return found
}

async function computeDelta(
  list: CachedDocument,
  members: ListMembers,
  from: number,
  deltas: ListDeltas,
): Promise<ComputedDelta> {
  const change = from === members.sequence ? { removed: [], added: [] } : await deltas.between(from, members)
  const text = change && listDeltaText(from, members, change)
  if (text === undefined || text.length > Math.min(MAX_DELTA_BYTES, list.bytes.length * LARGEST_PART)) return 'none'
  return new CachedDocument(toUtf8(text), CACHE_CONTROL.publishedDocuments, undefined, undefined, headOf(list))
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
