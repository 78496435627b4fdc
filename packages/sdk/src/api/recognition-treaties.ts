import { type TreatyFilter, type TreatyRow, recognitionTreaties } from '@chancery/contract'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { allRows } from './pages.ts'

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
