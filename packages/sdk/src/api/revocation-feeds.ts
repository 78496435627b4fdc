import { revocationFeeds } from '@chancery/contract'
import { asJson, readFeedIndex, readFeedPart, readRevocationFeed, shape, toUtf8, writeJson } from '@chancery/protocol'
import type { FeedIndex, FeedPart, RevocationFeed } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { RequestError } from '../errors.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'

/** The keys that verify a feed, and how it is imported. */
export interface FeedImportOptions {
  /** Keys that the operator supplies, by key id or as a list; without any those of an active treaty are used. */
  readonly issuer_public_keys?: Readonly<Record<string, string>> | readonly string[]
  readonly expected_issuer_sovereign_id?: string
  /** Accepts a feed whose sequence is more than a million ahead of the last one. */
  readonly accept_sequence_jump?: boolean
}

export interface FeedImportRequest extends FeedImportOptions {
  readonly feed: RecordOrText<RevocationFeed>
}

export interface FeedPartsImportRequest extends FeedImportOptions {
  readonly index: RecordOrText<FeedIndex>
  /** Each must be the part that the index names; they are sent in several requests. */
  readonly parts: readonly FeedPart[]
}

export type FeedImport = {
  readonly accepted: boolean
  readonly reason: string
  readonly feed_id: string
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly revoked_count: number
  readonly trust_basis: string
  /** True when every revocation of the issuer up to this sequence is stored; false while parts are missing. */
  readonly complete: boolean
}

export interface RevocationFeedsApi {
  /** Returns the feed of this network as served; verify its signature with the key you trust. */
  current(options?: CallOptions): Promise<RevocationFeed>
  /**
   * Returns the index of the feed as served: it names every part by its digest. Verify its signature like that of the
   * feed.
   */
  index(options?: CallOptions): Promise<FeedIndex>
  /** Returns one part of the feed; compare it with the index by `isPartOf`. */
  part(part: number, options?: CallOptions): Promise<FeedPart>
  /**
   * Permanent: an imported id stays revoked. The second of two equal imports is refused as stale_sequence, with
   * `unchanged` in its details.
   */
  import(request: FeedImportRequest, options?: CallOptions): Promise<FeedImport>
  /** Imports an index and its parts instead of a feed. Returns the response to the last request. */
  importParts(request: FeedPartsImportRequest, options?: CallOptions): Promise<FeedImport>
}

const word = shape.required(shape.string)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const readImport = shape.open({
  accepted: shape.required(shape.boolean),
  reason: word,
  feed_id: word,
  issuer_sovereign_id: word,
  sequence: whole,
  revoked_count: whole,
  trust_basis: word,
  complete: shape.withDefault(shape.boolean, true),
})

/** Bounds of one request: the authority takes 16 parts, 8 MiB and 200,000 names. */
const MAX_PARTS = 16
const MAX_BYTES = 7 * 1024 * 1024
const MAX_IDS = 180_000

export function revocationFeedsApi({ call }: Connection): RevocationFeedsApi {
  const send = (body: Parameters<typeof omitUndefined>[0], options?: CallOptions): Promise<FeedImport> =>
    call({
      route: revocationFeeds.import,
      body: omitUndefined(body),
      read: json((value) => readImport(value, '')),
      options,
    })
  return {
    current: (options) => call({ route: revocationFeeds.current, read: json(readRevocationFeed), options }),
    index: (options) => call({ route: revocationFeeds.index, read: json(readFeedIndex), options }),
    part: (part, options) =>
      call({ route: revocationFeeds.part, params: { part: String(part) }, read: json(readFeedPart), options }),
    import: (request, options) => send({ ...request }, options),
    async importParts({ parts, ...request }, options) {
      if (parts.length === 0) throw new RequestError('importParts needs at least one part')
      let done: FeedImport | undefined
      for (const some of batchesOf(parts)) done = await send({ ...request, parts: some }, options)
      return done as FeedImport
    },
  }
}

/** In order, each within the bounds of one request. A part alone is within them. */
function* batchesOf(parts: readonly FeedPart[]): Generator<readonly FeedPart[]> {
  let [batch, bytes, ids]: [FeedPart[], number, number] = [[], 0, 0]
  for (const part of parts) {
    const size = toUtf8(writeJson(asJson(part))).length
    const count = part.revoked_attestation_ids.length
    if (batch.length > 0 && (batch.length === MAX_PARTS || bytes + size > MAX_BYTES || ids + count > MAX_IDS)) {
      yield batch
      ;[batch, bytes, ids] = [[], 0, 0]
    }
    batch.push(part)
    bytes += size
    ids += count
  }
  yield batch
}
