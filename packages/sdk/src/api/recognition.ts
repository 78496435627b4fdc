import {
  type AttestationFilter,
  type AttestationPage,
  type AttestationRow,
  type FeedImport,
  type FeedImportRequest,
  type TreatyFilter,
  type TreatyRow,
  attestations,
  recognitionTreaties,
  revocationFeeds,
} from '@chancery/contract'
import { type FeedPart, asJson, toUtf8, writeJson } from '@chancery/protocol'
import { UsageError, ResponseError } from '../errors.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type ReadOptions, type RouteApi, routeApi } from '../http/route-api.ts'
import { allRows } from './pages.ts'

/**
 * As operator. After an unknown outcome `issue` is repeated only with an idempotency key. Verifications are public: with
 * the given policy, else with the active policy of the authority; or based on one direct treaty, where without keys only
 * a treaty of the authority itself counts, because recognition is not transitive. Read with `asOperator` in a network
 * that shows its members to operators only.
 */
export interface AttestationsApi extends RouteApi<typeof attestations> {
  /** Returns all of them, page after page. */
  all(
    query?: AttestationFilter & { readonly limit?: number },
    options?: ReadOptions,
  ): AsyncGenerator<AttestationRow, void, undefined>
}

export function attestationsApi(connection: Connection): AttestationsApi {
  const api = routeApi(attestations, connection)
  return {
    ...api,
    all: ({ limit, ...filter } = {}, options) =>
      allRows((bounds) => api.list({ ...filter, ...bounds }, options), rowsOf, limit),
  }
}

/** An empty list would be wrong where the rows are not public. */
function rowsOf({ attestations: rows }: AttestationPage): readonly AttestationRow[] {
  if (rows !== undefined) return rows
  const problem = 'this authority names attestations to operators only (asOperator)'
  throw new ResponseError({ status: 200, problem, requestId: undefined })
}

/**
 * As operator. After an unknown outcome `issue` and `renew` are repeated only with an idempotency key. `renew` signs the
 * next treaty with the terms of the old one, apart from the given ones, and ends the old treaty, in one transaction.
 */
export interface RecognitionTreatiesApi extends RouteApi<typeof recognitionTreaties> {
  /** Returns all of them, page after page. */
  all(
    query?: TreatyFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<TreatyRow, void, undefined>
}

export function recognitionTreatiesApi(connection: Connection): RecognitionTreatiesApi {
  const api = routeApi(recognitionTreaties, connection)
  return {
    ...api,
    all: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => api.list({ ...filter, ...bounds }, options),
        (page) => page.recognition_treaties,
        limit,
      ),
  }
}

export type FeedPartsImportRequest = Omit<FeedImportRequest, 'feed' | 'index' | 'parts'> & {
  readonly index: NonNullable<FeedImportRequest['index']>
  /** Each must be the part that the index names; they are sent in several requests. */
  readonly parts: readonly FeedPart[]
}

/**
 * Feed, index and parts are as served: verify the signature with the key you trust, and compare each part with the index
 * by `isPartOf`. `import` is permanent: an imported id stays revoked. The second of two equal imports is refused as
 * stale_sequence, with `unchanged` in its details.
 */
export interface RevocationFeedsApi extends RouteApi<typeof revocationFeeds> {
  /** Imports an index and its parts instead of a feed. Returns the response to the last request. */
  importParts(request: FeedPartsImportRequest, options?: CallOptions): Promise<FeedImport>
}

/** Bounds of one request: the authority takes 16 parts, 8 MiB and 200,000 names. */
const MAX_PARTS = 16
const MAX_BYTES = 7 * 1024 * 1024
const MAX_IDS = 180_000

export function revocationFeedsApi(connection: Connection): RevocationFeedsApi {
  const api = routeApi(revocationFeeds, connection)
  return {
    ...api,
    async importParts({ parts, ...request }, options) {
      if (parts.length === 0) throw new UsageError('importParts needs at least one part')
      let done: FeedImport | undefined
      for (const some of batchesOf(parts)) done = await api.import({ ...request, parts: some }, options)
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
