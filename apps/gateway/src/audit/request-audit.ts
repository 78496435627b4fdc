import { faultPoint } from '#faults'
import { type GatewayAuditEventName, GatewayRefusal } from '@chancery/contract'
import { type JsonObject, type JsonValue, writeInstant } from '@chancery/protocol'
import { BatchFullError, type Clock, type Ids, type Log, type MaybePromise } from '@chancery/service-kit'
import { type StateAccess, StateUnavailableError } from '../state/durable-state.ts'
import type { AuthMethod } from '../auth/access.ts'

/**
 * Collects what the audit stores of one request (protocol/gateway 16.2). Members are listed one by one: a member that
 * is not listed here cannot reach the audit.
 */
export interface AuditContext {
  /** Set when the request was refused before its work began, with the reason sent to the caller. */
  outcome?: 'refused'
  reason?: string
  client_id?: string
  policy_revision?: string
  /** Of the caller, or the one that was asked when the caller has none. */
  network?: string
  /** Id of a catalogued operation. */
  operation?: string
  /** Key id of an operator signature. The authority verifies it. */
  admin_key_id?: string
  upstream_status?: number
  upstream_request_id?: string
  /** The request was sent to an authority. Its effect is unknown. */
  outcome_uncertain?: true
  auth_method?: AuthMethod
  client_request_id?: string
  /** The trace that the caller named. It proves nothing. */
  trace_id?: string
  peer_certificate_sha256?: string
  trust_decision?: { readonly trusted: boolean; readonly reasons: readonly string[] }
  trust_decisions?: readonly { readonly trusted: boolean; readonly reasons: readonly string[] }[]
  /** SHA-256 of each signing input. An auditor with a certificate can find its decisions. */
  certificate_digests?: readonly string[]
  /** One for each question, in their order. */
  decisions?: readonly AuditedDecision[]
  /** How the proxy of an HTTP check sent the original request. */
  dialect?: string
  /** The route of the policy that an HTTP check used: method and path pattern. */
  check_route?: string
  /** The network whose authority decides on that route. The caller may be of another one. */
  decision_network?: string
  crl?: { readonly issuer: string; readonly sequence: number }
  /** Name of the resource of an access token. */
  oauth_resource?: string
  token_id?: string
  token_scope?: string
  token_expires_at?: string
  token_key_id?: string
  token_jkt?: string
  /** SHA-256 of issuer and subject of the person for whom the node acts. */
  user_digest?: string
  /** The answer of an introspection. */
  active?: boolean
}

export interface AuditedDecision {
  /** Null when there was no decision. `reason` says why none was passed on. */
  readonly decision_id: string | null
  readonly reason?: string
  readonly authorized: boolean
  /** The decision was given before, for the identical question of the same client. */
  readonly reused: boolean
}

function toJson(context: AuditContext): JsonObject {
  return context as unknown as { readonly [name: string]: JsonValue }
}

export interface AuditedRequest {
  readonly requestId: string
  readonly method: string
  /** Template of the route, never the path that was sent. */
  readonly route: string
  readonly startedMs: number
  readonly caller: 'anonymous' | 'client' | 'node'
  /** False for a scrape of the metrics: it decides nothing, and comes every few seconds. */
  readonly isStored?: boolean
  /** Why the request was refused or failed. Used in the log line only. */
  code?: string
  readonly context: AuditContext
}

/**
 * Writes two channels (protocol/gateway 16.1): always JSON lines on standard output, and with durable state an intent
 * before the work and a completion before the response.
 */
export class RequestAudit {
  readonly #state: StateAccess | undefined
  readonly #clock: Clock
  readonly #lines: Log

  constructor(state: StateAccess | undefined, clock: Clock, lines: Log) {
    this.#state = state
    this.#clock = clock
    this.#lines = lines
  }

  /** Stores the intent. The work starts only after this succeeds. */
  begin(request: AuditedRequest): MaybePromise<void> {
    if (this.#state === undefined || request.isStored === false) return undefined
    return this.#keep([this.#started(request)], false)
  }

  /** Stores the completion before the response is sent. If this fails, the outcome is reported as uncertain. */
  complete(request: AuditedRequest, status: number): MaybePromise<void> {
    const elapsed_us = this.#writeLine(request, status)
    if (this.#state === undefined || request.isStored === false) return undefined
    return this.#keepCompletion(this.#completed(request, status, elapsed_us))
  }

  /** Stores both events at once, for a request without an effect outside. */
  recordBoth(request: AuditedRequest, status: number): MaybePromise<void> {
    const elapsed_us = this.#writeLine(request, status)
    if (this.#state === undefined) return undefined
    return this.#keep([this.#started(request), this.#completed(request, status, elapsed_us)], false)
  }

  #started({ requestId, method, route }: AuditedRequest): JsonObject {
    const event_id = `${requestId}:started`
    return { event_id, request_id: requestId, phase: 'started', method, route, at: writeInstant(this.#clock.now()) }
  }

  /** Writes the line of a completed request. Returns its duration. */
  #writeLine(request: AuditedRequest, status: number): number {
    const { requestId, route, context } = request
    const elapsed_us = Math.max(0, Math.round((this.#clock.monotonicMs() - request.startedMs) * 1000))
    this.#lines.info('request completed', {
      request_id: requestId,
      method: request.method,
      route,
      status,
      code: request.code,
      elapsed_us,
      caller: request.caller,
      instance: instanceOf(requestId),
      outcome: context.outcome,
      reason: context.reason,
      client_id: context.client_id,
      auth_method: context.auth_method,
      policy_revision: context.policy_revision,
      network: context.network,
      operation: context.operation,
      upstream_status: context.upstream_status,
      upstream_request_id: context.upstream_request_id,
      outcome_uncertain: context.outcome_uncertain,
      trusted: context.trust_decision?.trusted,
      client_request_id: context.client_request_id,
      trace_id: context.trace_id,
      dialect: context.dialect,
      check_route: context.check_route,
      decision_network: context.decision_network,
      oauth_resource: context.oauth_resource,
      token_id: context.token_id,
      decision_ids: context.decisions?.map(({ decision_id }) => decision_id ?? '-').join(' '),
    })
    return elapsed_us
  }

  #completed({ requestId, context }: AuditedRequest, status: number, elapsed_us: number): JsonObject {
    const at = writeInstant(this.#clock.now())
    // Copies the context: work that ends after the deadline must not change what was sent to the caller.
    const event_id = `${requestId}:completed`
    const facts = { status, elapsed_us, context: toJson({ ...context }), at }
    return { event_id, request_id: requestId, phase: 'completed', ...facts }
  }

  async #keepCompletion(event: JsonObject): Promise<void> {
    await this.#keep([event], true)
    faultPoint('event-answered')
  }

  async #keep(events: readonly JsonObject[], isOutcomeUncertain: boolean): Promise<void> {
    try {
      await this.#state?.append(...events)
    } catch (error) {
      if (!(error instanceof StateUnavailableError) && !(error instanceof BatchFullError)) throw error
      throw new GatewayRefusal('audit_unavailable', undefined, { isOutcomeUncertain, cause: error })
    }
  }
}

const INSTANCE_LENGTH = 12

/** Returns the name of the process that made a request id: the beginning of it. */
export function instanceOf(requestId: string): string {
  return requestId.slice(0, INSTANCE_LENGTH)
}

/** Builds an operator event for the audit. Its id stays the same through every delivery. */
export function operatorEvent(
  event: Exclude<GatewayAuditEventName, 'started' | 'completed'>,
  facts: JsonObject,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
): JsonObject {
  return { event, event_id: `${event}:${ids.uuid()}`, ...facts, at: writeInstant(clock.now()) }
}
