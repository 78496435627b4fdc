import { type AttestationFilter, type AttestationPage, type AttestationRow, attestations } from '@chancery/contract'
import { ResponseError } from '../errors.ts'
import type { Connection } from '../http/call.ts'
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
