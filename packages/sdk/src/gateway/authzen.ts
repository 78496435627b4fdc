import { type JsonObject, asJson, shape } from '@chancery/protocol'
import { type Caller, type ConnectionOptions, makeCaller, toCallerParts } from '../http/call.ts'
import { json } from '../http/read-response.ts'
import { askOne, authzenRoute, readResponses } from './authzen-forms.ts'
import type {
  AuthzenAnswer,
  AuthzenClient,
  AuthzenConfiguration,
  EvaluationRequest,
  EvaluationResponse,
  Verifying,
} from './authzen-forms.ts'
import { type TokenSource, bearerHeader } from './bearer.ts'

/**
 * Any decision point of the specification, also one that is not Chancery. With `trust` the signed decision is verified:
 * a response without one is an error.
 */
export function createAuthzenClient(
  options: ConnectionOptions & Verifying & { readonly token?: TokenSource },
): AuthzenClient {
  const { token } = options
  const call = makeCaller({
    ...toCallerParts(options),
    sign: undefined,
    headers: async () => (token === undefined ? {} : bearerHeader(token)),
  })
  return authzenOver(call, options)
}

export function authzenOver(call: Caller, verifying: Verifying): AuthzenClient {
  const toAnswer = async (response: EvaluationResponse, question: EvaluationRequest): Promise<AuthzenAnswer> => {
    if (verifying.trust === undefined) return { allowed: response.decision, verified: false, response }
    const { requireAnswer } = await import('./verify-answer.ts')
    const { decision: record } = await requireAnswer(response, question, verifying)
    return record.authorized
      ? { allowed: true, verified: true, record, response }
      : { allowed: false, verified: true, record, response }
  }
  return {
    evaluate: async (request, options) => toAnswer(await askOne(call, request, options), request),
    evaluateAll: async ({ evaluations, ...defaults }, options) => {
      const { evaluations: found } = await call({
        route: authzenRoute('accessEvaluations'),
        body: asJson({ ...defaults, evaluations }),
        read: json((value) => readResponses(value, '')),
        options,
      })
      // A member of an item replaces the whole default.
      const { options: _semantic, ...usual } = defaults
      return Promise.all(
        found.map((each, index) => toAnswer(each, { ...usual, ...evaluations[index] } as EvaluationRequest)),
      )
    },
    configuration: () =>
      call({
        route: authzenRoute('authzenConfiguration'),
        read: json((value) => shape.object(value, '') as unknown as AuthzenConfiguration),
      }),
  }
}
