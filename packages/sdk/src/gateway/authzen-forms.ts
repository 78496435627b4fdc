import { GATEWAY_ROUTES } from '@chancery/contract'
import { type JsonObject, type JsonValue, type Read, asJson, shape } from '@chancery/protocol'
import type { CallOptions, CallRoute, Caller, ConnectionOptions } from '../http/call.ts'
import { json } from '../http/read-response.ts'
import type { NetworkIdentity } from '../trust/identity.ts'
import type { AllowedDecision, DeniedDecision } from '../verify/verdict.ts'

/** Names of the AuthZEN Authorization API 1.0. */
export interface AuthzenSubject {
  readonly type: string
  readonly id: string
  readonly properties?: JsonObject
}

export interface AuthzenResource {
  readonly type: string
  readonly id: string
  readonly properties?: JsonObject
}

export interface AuthzenAction {
  readonly name: string
  readonly properties?: JsonObject
}

export interface EvaluationRequest {
  readonly subject: AuthzenSubject
  readonly action: AuthzenAction
  readonly resource: AuthzenResource
  readonly context?: JsonObject
}

export interface EvaluationResponse {
  readonly decision: boolean
  readonly context?: JsonObject & { readonly reason?: JsonValue }
}

export type EvaluationsSemantic = 'execute_all' | 'deny_on_first_deny' | 'permit_on_first_permit'

export interface EvaluationsRequest extends Partial<EvaluationRequest> {
  readonly evaluations: readonly Partial<EvaluationRequest>[]
  readonly options?: { readonly evaluations_semantic?: EvaluationsSemantic }
}

export interface EvaluationsResponse {
  readonly evaluations: readonly EvaluationResponse[]
}

export interface AuthzenConfiguration {
  readonly policy_decision_point: string
  readonly access_evaluation_endpoint: string
  readonly access_evaluations_endpoint?: string
  readonly capabilities?: readonly string[]
}

/** `verified` is false only without `trust`. */
export type AuthzenAnswer =
  | {
      readonly allowed: true
      readonly verified: true
      readonly record: AllowedDecision
      readonly response: EvaluationResponse
    }
  | {
      readonly allowed: false
      readonly verified: true
      readonly record: DeniedDecision
      readonly response: EvaluationResponse
    }
  | {
      readonly allowed: boolean
      readonly verified: false
      readonly record?: undefined
      readonly response: EvaluationResponse
    }

export interface AuthzenClient {
  evaluate(
    request: EvaluationRequest,
    options?: { readonly signal?: AbortSignal; readonly requestId?: string },
  ): Promise<AuthzenAnswer>
  /** As many answers as the decision point gave: it may end at the first one of a kind. */
  evaluateAll(
    request: EvaluationsRequest,
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly AuthzenAnswer[]>
  configuration(): Promise<AuthzenConfiguration>
}

/** How decisions are verified. */
export interface Verifying extends Pick<ConnectionOptions, 'clock'> {
  readonly trust?: NetworkIdentity | readonly NetworkIdentity[]
}

export function askOne(call: Caller, request: EvaluationRequest, options?: CallOptions): Promise<EvaluationResponse> {
  return call({
    route: authzenRoute('accessEvaluation'),
    body: asJson(request),
    read: json((value) => readResponse(value, '')),
    options,
  })
}

export function authzenRoute(name: 'accessEvaluation' | 'accessEvaluations' | 'authzenConfiguration'): CallRoute {
  const { method, path } = GATEWAY_ROUTES[name]
  return { id: `${method} ${path}` as CallRoute['id'], method, path, params: [], access: 'public', response: 'json' }
}

const readDecision = shape.open({ decision: shape.required(shape.boolean) })

function readResponse(value: JsonValue, place: string): EvaluationResponse {
  const { decision } = readDecision(value, place)
  return { ...shape.object(value, place), decision }
}

export const readResponses: Read<{ readonly evaluations: readonly EvaluationResponse[] }> = shape.open({
  evaluations: shape.required(shape.arrayOf(readResponse, { max: 10_000 })),
})
