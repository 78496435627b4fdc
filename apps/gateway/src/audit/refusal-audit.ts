import { GATEWAY_ERRORS } from '@chancery/contract'
import type { GatewayErrorName } from '@chancery/contract'
import { writeInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { MemoryLimiter, limitAddress } from '@chancery/service-kit'
import type { Clock, Counter, Ids, Limiter, Log } from '@chancery/service-kit'
import type { StateAccess } from '../state/durable-state.ts'
import { operatorEvent } from './operator-event.ts'
import { RefusalRoom } from './refusal-room.ts'
import type { AuditedRequest, RequestAudit } from './request-audit.ts'

export interface RefusalAuditParts {
  readonly audit: RequestAudit
  readonly state: StateAccess | undefined
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** GATEWAY_AUDIT_REFUSALS_PER_MINUTE. */
  readonly perMinute: number
  /** GATEWAY_STATE_MAX_BYTES. */
  readonly capacityBytes: number
  readonly notRecorded: Counter
}

/** A request that was refused before its work began. */
export interface RefusedRequest extends Omit<AuditedRequest, 'caller' | 'code' | 'context'> {
  readonly address: string
  /** The trace that the caller named. */
  readonly traceId: string | undefined
}

/** Why, and the client when the credential names one. */
export interface RefusedBy {
  readonly error: GatewayErrorName
  readonly client?: { readonly id: string } | undefined
}

/** Pairs of events per minute: per address, per client, and for all clients together. */
const OF_ADDRESS = 20
const OF_CLIENT = 10
const OF_CLIENTS = 600

interface Sum {
  readonly route: string
  readonly status: number
  readonly reason: string
  readonly client_id: string | undefined
  count: number
  readonly firstAt: Instant
  lastAt: Instant
}

/**
 * Audits requests refused with 401, 403 and 429: both events of each request up to a limit, and one sum per minute above the
 * limit, so that a flood cannot fill the state. A failed write changes no response; it is counted.
 */
export class RefusalAudit {
  readonly #parts: RefusalAuditParts
  readonly #limits: Limiter
  readonly #sums = new Map<string, Sum>()
  readonly #room: RefusalRoom

  constructor(parts: RefusalAuditParts) {
    this.#parts = parts
    this.#limits = new MemoryLimiter(parts.clock)
    this.#room = new RefusalRoom(parts.state, parts.capacityBytes)
  }

  async record(request: RefusedRequest, { error, client }: RefusedBy): Promise<void> {
    const { status, reason } = GATEWAY_ERRORS[error]
    if (!this.#room.hasRoomForEvents() || !(await this.#isAlone(status, request.address, client?.id))) {
      this.#add(request.route, status, reason, client?.id)
      return
    }
    const { traceId, ...facts } = request
    const context = {
      outcome: 'refused',
      reason,
      ...(client === undefined ? {} : { client_id: client.id }),
      ...(traceId === undefined ? {} : { trace_id: traceId }),
    } as const
    const caller = client === undefined ? 'anonymous' : 'client'
    this.#room.add(2)
    try {
      await this.#parts.audit.recordBoth({ ...facts, caller, code: reason, context }, status)
    } catch {
      this.#parts.notRecorded.increase()
    }
  }

  /** Writes the sums since the last flush. */
  async flush(): Promise<void> {
    const { state, log, notRecorded } = this.#parts
    const sums = [...this.#sums.values()]
    this.#sums.clear()
    if (!this.#room.hasRoomForSums()) {
      if (sums.length === 0) return
      const count = sums.reduce((total, sum) => total + sum.count, 0)
      notRecorded.increase(count)
      log.error('refused requests are not in the audit: state is nearly full', { alarm: true, count })
      return
    }
    this.#room.add(sums.length)
    for (const { firstAt, lastAt, client_id, ...facts } of sums) {
      const times = { first_at: writeInstant(firstAt), last_at: writeInstant(lastAt) }
      const members = { ...facts, ...(client_id === undefined ? {} : { client_id }), ...times }
      try {
        await state?.append(operatorEvent('refused_requests', members, this.#parts))
      } catch (error) {
        notRecorded.increase(facts.count)
        log.error('refused requests are not in the audit', { error })
      }
    }
  }

  /**
   * Returns whether the request gets separate events. Throttled unauthenticated callers never get them, because they
   * may send without limit.
   */
  async #isAlone(status: number, address: string, clientId: string | undefined): Promise<boolean> {
    const limits = this.#limits
    if (status === 401 || (status === 403 && clientId === undefined)) {
      return (
        (await limits.hit(`address ${limitAddress(address)}`, OF_ADDRESS)) &&
        (await limits.hit('failures', this.#parts.perMinute))
      )
    }
    if (clientId === undefined) return false
    return (await limits.hit(`client ${clientId}`, OF_CLIENT)) && (await limits.hit('clients', OF_CLIENTS))
  }

  /** The number of sums is limited by the routes, reasons and clients of the policy. Callers cannot create more. */
  #add(route: string, status: number, reason: string, client_id: string | undefined): void {
    const now = this.#parts.clock.now()
    const key = JSON.stringify([route, status, reason, client_id])
    const sum = this.#sums.get(key)
    if (sum === undefined) {
      this.#sums.set(key, { route, status, reason, client_id, count: 1, firstAt: now, lastAt: now })
      return
    }
    sum.count += 1
    sum.lastAt = now
  }
}
