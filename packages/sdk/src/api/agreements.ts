import { type CommitRequest, type SaltedCommitment, agreements, disclosure } from '@chancery/contract'
import type { CapabilityCommitment } from '@chancery/protocol'
import { ResponseError } from '../errors.ts'
import type { Connection, WriteOptions } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/**
 * After an unknown outcome, creating calls are repeated only with an idempotency key. `cosign`: as the offerer, adds its
 * signature to an agreement that the responder accepted; a record that it has already signed is returned unchanged.
 * `verify` states the graph apart from the signatures, unless `separate_graph` is false.
 */
export type AgreementsApi = RouteApi<typeof agreements>

export function agreementsApi(connection: Connection): AgreementsApi {
  const api = routeApi(agreements, connection)
  return {
    ...api,
    verify: (request, options) => api.verify({ ...request, separate_graph: request.separate_graph ?? true }, options),
  }
}

/**
 * `nullifier`: as operator, by which a verifier accepts a proof once. `prove` sends the whole list to the authority; to
 * avoid this, build the proof locally with `proveMembership`.
 */
export interface DisclosureApi extends Omit<RouteApi<typeof disclosure>, 'commit'> {
  /** As operator. Every capability must be one of the agreement. Store the seed: the authority does not. */
  commit(request: CommitRequest, options?: WriteOptions): Promise<SaltedCommitment>
  /** As operator: the form that older networks read. Hidden names can be guessed from it. */
  commitUnsalted(request: CommitRequest, options?: WriteOptions): Promise<CapabilityCommitment>
}

export function disclosureApi(connection: Connection): DisclosureApi {
  const api = routeApi(disclosure, connection)
  return {
    ...api,
    async commit(request, options) {
      const made = await api.commit({ ...request, salted: true }, options)
      // An authority of an earlier release ignores the word.
      if (!('seed' in made)) throw otherForm('the commitment is not salted')
      return made
    },
    async commitUnsalted(request, options) {
      const made = await api.commit(request, options)
      if ('seed' in made) throw otherForm('the commitment is salted')
      return made
    },
  }
}

function otherForm(problem: string): ResponseError {
  return new ResponseError({ status: 201, problem, requestId: undefined })
}
