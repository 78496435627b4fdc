import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { CachedDocument, type Call, Capacity, FairQueue } from '@chancery/service-kit'
import type { Database } from '../../database/database.ts'
import { findList } from '../../database/list-segments.ts'
import { current, readRareDocument } from './serve-list.ts'
import type { CrlState } from './entries-cache.ts'
import {
  LIST_HEAD_HEADER,
  MAX_DELTA_BYTES,
  fromUtf8,
  isJsonObject,
  listDeltaText,
  readCrl,
  readJson,
  toUtf8,
} from '@chancery/protocol'
import type { Crl } from '@chancery/protocol'
import type { ComputedDelta, DeltaCache } from './delta-cache.ts'
import type { ListDeltas } from './list-deltas.ts'

const [ENTRIES, AFTER_ENTRIES] = [',"revoked_certificates":[', '],"sequence":']
/** Both ends of a list are short: key ids have at most 128 characters. */
const END_BYTES = 8192

type ListMembers = Omit<Crl, 'revoked_certificates'>

/**
 * The members of a served list besides its entries, read from both ends of its bytes: a list may be many megabytes. The
 * bytes are canonical, so no text in them contains these words with their quotes.
 */
function readListMembers({ bytes }: CachedDocument): ListMembers {
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
function headOf({ headers }: CachedDocument): Readonly<Record<string, string>> {
  const value = headers[headers.indexOf(LIST_HEAD_HEADER) + 1]
  return headers.includes(LIST_HEAD_HEADER) && value !== undefined ? { [LIST_HEAD_HEADER]: value } : {}
}

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
  readonly #waiting = new Capacity({ reads: MAX_WAITING }, 1)

  async read(sequence: number, address: string, database: Pick<Database, 'read'>): Promise<CachedDocument> {
    if (!this.#waiting.take('reads', address)) throw new Refusal('service_unavailable', { reason: 'busy' })
    const turn = this.#turns.take(address)
    try {
      await turn.granted
      return await this.#load(sequence, database)
    } finally {
      turn.end()
      this.#waiting.give('reads', address)
    }
  }

  async #load(sequence: number, { read }: Pick<Database, 'read'>): Promise<CachedDocument> {
    const found = await findList(read, sequence)
    if (found === undefined) throw new Refusal('crl_version_not_found')
    return readRareDocument(read, found, CACHE_CONTROL.publishedVersion)
  }
}
