import { faultPoint } from '#faults'
import { GatewayRefusal } from '@chancery/contract'
import { writeInstant } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { BatchOverflow } from '@chancery/service-kit'
import type { Clock, Log, Soon } from '@chancery/service-kit'
import { StateUnavailable } from '../state/durable-state.ts'
import type { DurableState } from '../state/durable-state.ts'
import { toJson } from './audit-context.ts'
import type { AuditContext } from './audit-context.ts'

export interface AuditedRequest {
  readonly requestId: string
  readonly method: string
  /** The template of the route, never the path that was asked for. */
  readonly route: string
  readonly startedMs: number
  readonly context: AuditContext
}

/**
 * Two channels (protocol/gateway 16.1): JSON lines on standard output always, and with durable state an intent before
 * the work and a completion before the answer.
 */
export class RequestAudit {
  readonly #state: DurableState | undefined
  readonly #clock: Clock
  readonly #lines: Log

  constructor(state: DurableState | undefined, clock: Clock, lines: Log) {
    this.#state = state
    this.#clock = clock
    this.#lines = lines
  }

  /** The intent is kept before the work starts, or the work does not start. */
  begin({ requestId, method, route }: AuditedRequest): Soon<void> {
    if (this.#state === undefined) return undefined
    const event = { request_id: requestId, phase: 'started', method, route, at: writeInstant(this.#clock.now()) }
    return this.#keep(event, false)
  }

  /** The completion is kept before the answer leaves; otherwise nobody may take the answer for certain. */
  complete(request: AuditedRequest, status: number): Soon<void> {
    const { requestId, route, context } = request
    const elapsed_us = Math.max(0, Math.round((this.#clock.monotonicMs() - request.startedMs) * 1000))
    this.#lines.info('request completed', {
      request_id: requestId,
      method: request.method,
      route,
      status,
      elapsed_us,
      client_id: context.client_id,
      auth_method: context.auth_method,
      policy_revision: context.policy_revision,
      network: context.network,
      operation: context.operation,
      upstream_status: context.upstream_status,
      upstream_request_id: context.upstream_request_id,
      trusted: context.trust_decision?.trusted,
      client_request_id: context.client_request_id,
    })
    if (this.#state === undefined) return undefined
    const at = writeInstant(this.#clock.now())
    return this.#keepCompletion({
      request_id: requestId,
      phase: 'completed',
      status,
      elapsed_us,
      context: toJson(context),
      at,
    })
  }

  async #keepCompletion(event: JsonObject): Promise<void> {
    await this.#keep(event, true)
    faultPoint('event-answered')
  }

  async #keep(event: JsonObject, isOutcomeUncertain: boolean): Promise<void> {
    try {
      await this.#state?.append(event)
    } catch (error) {
      if (!(error instanceof StateUnavailable) && !(error instanceof BatchOverflow)) throw error
      throw new GatewayRefusal('audit_unavailable', undefined, { isOutcomeUncertain, cause: error })
    }
  }
}
