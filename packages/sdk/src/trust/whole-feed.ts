import { isPartOf, verifyList, verifyRevocationFeed } from '@chancery/protocol'
import type { FeedIndex, FeedPart, RevocationFeed } from '@chancery/protocol'
import { NotFoundError, ResponseError } from '../errors.ts'
import type { CallOptions, ConnectionOptions } from '../http/call.ts'
import { type RevocationFeedsApi, revocationFeedsApi } from '../api/recognition.ts'
import { openConnection } from '../http/connection.ts'

/** How often the index is read when a part is not the one it names: the feed may change between two reads. */
const INDEX_READS = 3

/** An index with all of its parts. */
export interface FeedInParts {
  readonly index: FeedIndex
  /** By number. */
  readonly parts: readonly FeedPart[]
}

/** Every revocation of one issuer, from a signed record. */
export interface WholeFeed {
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly issued_at: string
  /** Id to reason; undefined where the issuer leaves the reason out. */
  readonly revoked: ReadonlyMap<string, string | undefined>
  /** The records it was read from: pass `inParts` as `held` to the next read. */
  readonly inParts?: FeedInParts
  readonly feed?: RevocationFeed
}

export interface WholeFeedOptions extends Omit<ConnectionOptions, 'url'>, CallOptions {
  /** Parts of an earlier read: those with the same digest are not read again. */
  readonly held?: FeedInParts
  /** The network that must have issued the feed. */
  readonly issuer?: string
}

/**
 * Reads every revocation of an authority: the index, and the parts that are not held. An authority without an index has
 * the plain feed only. The records must be signed by one of the keys. Throws a {@link ResponseError} when a signature
 * does not verify, the issuer is another one, or the parts do not belong to the index.
 */
export async function readWholeFeed(
  url: string,
  keys: readonly string[],
  options: WholeFeedOptions = {},
): Promise<WholeFeed> {
  const { held, issuer, signal, budgetMs, ...connection } = options
  const api = revocationFeedsApi(openConnection({ url, ...connection }))
  const call = { ...(signal === undefined ? {} : { signal }), ...(budgetMs === undefined ? {} : { budgetMs }) }
  const check = async (record: FeedIndex | RevocationFeed): Promise<void> => {
    const isSigned = 'feed_id' in record ? verifyRevocationFeed(record, keys) : verifyList(record, keys)
    if (!(await isSigned)) throw unusable('is not signed by one of the given keys')
    if (issuer !== undefined && record.issuer_sovereign_id !== issuer) throw unusable('is the feed of another issuer')
  }
  const inParts = await readFeedInParts(api, { check, held, call })
  const feed = inParts === undefined ? await api.current(call) : undefined
  if (feed !== undefined) await check(feed)
  const source = inParts?.index ?? (feed as RevocationFeed)
  return {
    issuer_sovereign_id: source.issuer_sovereign_id,
    sequence: source.sequence,
    issued_at: source.issued_at,
    revoked: new Map((inParts?.parts ?? [feed as RevocationFeed]).flatMap(entriesOf)),
    ...(inParts === undefined ? {} : { inParts }),
    ...(feed === undefined ? {} : { feed }),
  }
}

/**
 * Reads the index and the parts that are not held. `check` refuses an index by throwing, before any part is read.
 * Undefined when the authority has no index.
 */
export async function readFeedInParts(
  api: Pick<RevocationFeedsApi, 'index' | 'part'>,
  {
    check,
    held,
    call,
  }: {
    readonly check?: ((index: FeedIndex) => Promise<void>) | undefined
    readonly held?: FeedInParts | undefined
    readonly call?: CallOptions
  },
): Promise<FeedInParts | undefined> {
  const known = new Map(held?.index.parts.map(({ digest }, at) => [digest, held.parts[at]]))
  for (let read = 0; read < INDEX_READS; read += 1) {
    const index = await api.index(call).catch(ifMissing)
    if (index === undefined) return undefined
    await check?.(index)
    const parts = await readParts(api, index, known, call)
    if (parts !== undefined) return { index, parts }
  }
  throw unusable('has parts that its index does not name')
}

/** Undefined when a part is not the one of the index. Parts that fit are held for the next attempt. */
async function readParts(
  api: Pick<RevocationFeedsApi, 'part'>,
  index: FeedIndex,
  known: Map<string, FeedPart | undefined>,
  call: CallOptions | undefined,
): Promise<readonly FeedPart[] | undefined> {
  const parts: FeedPart[] = []
  for (const { part: number, digest } of index.parts) {
    const held = known.get(digest)
    const part =
      held !== undefined && isPartOf(held, index) ? held : await api.part(String(number), call).catch(ifMissing)
    if (part?.part !== number || (part !== held && !isPartOf(part, index))) return undefined
    known.set(digest, part)
    parts.push(part)
  }
  return parts
}

function ifMissing(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error
  return undefined
}

function entriesOf({
  revoked_attestation_ids: ids,
  revocation_reasons: reasons,
}: Pick<FeedPart, 'revoked_attestation_ids' | 'revocation_reasons'>): readonly [string, string | undefined][] {
  return ids.map((id) => [id, Object.hasOwn(reasons, id) ? reasons[id] : undefined])
}

function unusable(problem: string): ResponseError {
  return new ResponseError({ status: 200, problem: `the revocation feed ${problem}`, requestId: undefined })
}
