import { type Instant, writeInstant } from '@chancery/protocol'
import { LimiterUnavailableError, limitAddress } from '@chancery/service-kit'
import type { Clock, Counter, Ids, Limiter, Log, MaybePromise } from '@chancery/service-kit'
import type { DurableState, StateAccess } from '../state/durable-state.ts'
import { type AuditedRequest, type RequestAudit, operatorEvent } from './request-audit.ts'
import type { StateUsage } from '../state/verify-state.ts'

/** Refused requests get separate events below the first part of the capacity, and sums below the second. */
const EVENTS_PART = 0.7
const SUMS_PART = 0.85
/** Upper estimate of one event with its row in the outbox. */
const EVENT_BYTES = 1024

/**
 * Says whether events of refused requests may still use the state. A caller without a credential must not fill it,
 * because a full state stops the gateway. The last part of the capacity is reserved for accepted requests.
 */
export class RefusalRoom {
  readonly #state: Pick<DurableState, 'usage'> | undefined
  readonly #capacityBytes: number
  #measured: StateUsage | undefined
  /** Events since the last measurement, which runs once a minute. */
  #written = 0

  constructor(state: Pick<DurableState, 'usage'> | undefined, capacityBytes: number) {
    this.#state = state
    this.#capacityBytes = capacityBytes
  }

  hasRoomForEvents(): boolean {
    return this.#isBelow(EVENTS_PART)
  }

  hasRoomForSums(): boolean {
    return this.#isBelow(SUMS_PART)
  }

  /** Counts events that are written now. */
  add(events: number): void {
    this.#written += events
  }

  #isBelow(part: number): boolean {
    const usage = this.#state?.usage
    if (usage === undefined) return true
    if (usage !== this.#measured) {
      this.#measured = usage
      this.#written = 0
    }
    return usage.usedBytes + this.#written * EVENT_BYTES < this.#capacityBytes * part
  }
}

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
  /** Counts the refused requests of all workers together. */
  readonly limits: Pick<Limiter, 'hit'>
  /** Set in a worker: gives the sums to the supervisor, which writes one for all workers. */
  readonly passSums: ((sums: readonly RefusalSum[]) => Promise<void>) | undefined
}

/** A request that was refused before its work began. */
export interface RefusedRequest extends Omit<AuditedRequest, 'caller' | 'code' | 'context'> {
  readonly address: string
  /** The trace that the caller named. */
  readonly traceId: string | undefined
}

/** Status and reason as sent, and the client when the credential names one. */
export interface RefusedBy {
  readonly status: number
  readonly reason: string
  readonly client?: { readonly id: string } | undefined
}

/** Pairs of events per minute: per address, per client, and for all clients together. */
const OF_ADDRESS = 20
const OF_CLIENT = 10
const OF_CLIENTS = 600

/** Refused requests that got no separate events. */
export interface RefusalSum {
  readonly route: string
  readonly status: number
  readonly reason: string
  readonly client_id: string | undefined
  readonly count: number
  readonly firstAt: Instant
  readonly lastAt: Instant
}

/**
 * Audits refused requests, mostly with 401, 403 and 429: both events of each request up to a limit, and one sum per minute above the
 * limit, so that a flood cannot fill the state. A failed write changes no response; it is counted.
 */
export class RefusalAudit {
  readonly #parts: RefusalAuditParts
  readonly #sums = new Map<string, RefusalSum>()
  readonly #room: RefusalRoom

  constructor(parts: RefusalAuditParts) {
    this.#parts = parts
    this.#room = new RefusalRoom(parts.state, parts.capacityBytes)
  }

  async record(request: RefusedRequest, { status, reason, client }: RefusedBy): Promise<void> {
    if (!this.#room.hasRoomForEvents() || !(await this.#isAlone(status, request.address, client?.id))) {
      const now = this.#parts.clock.now()
      const { route } = request
      this.add({ route, status, reason, client_id: client?.id, count: 1, firstAt: now, lastAt: now })
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

  /** The number of sums is limited by the routes, reasons and clients of the policy. Callers cannot create more. */
  add(sum: RefusalSum): void {
    const { route, status, reason, client_id } = sum
    const key = JSON.stringify([route, status, reason, client_id])
    const before = this.#sums.get(key)
    if (before === undefined) {
      this.#sums.set(key, sum)
      return
    }
    const firstAt = sum.firstAt < before.firstAt ? sum.firstAt : before.firstAt
    const lastAt = sum.lastAt > before.lastAt ? sum.lastAt : before.lastAt
    this.#sums.set(key, { ...before, count: before.count + sum.count, firstAt, lastAt })
  }

  /** Writes the sums since the last flush, or gives them to the supervisor. */
  async flush(): Promise<void> {
    const sums = [...this.#sums.values()]
    this.#sums.clear()
    const { passSums } = this.#parts
    if (passSums === undefined) await this.#write(sums)
    else if (sums.length > 0) await this.#pass(sums, passSums)
  }

  async #pass(sums: readonly RefusalSum[], passSums: NonNullable<RefusalAuditParts['passSums']>): Promise<void> {
    const { log, notRecorded } = this.#parts
    try {
      await passSums(sums)
    } catch (error) {
      notRecorded.increase(countOf(sums))
      log.error('refused requests are not in the audit', { error })
    }
  }

  async #write(sums: readonly RefusalSum[]): Promise<void> {
    const { state, log, notRecorded } = this.#parts
    if (!this.#room.hasRoomForSums()) {
      if (sums.length === 0) return
      const count = countOf(sums)
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
   * may send without limit. A request that could not be counted is summed up.
   */
  async #isAlone(status: number, address: string, clientId: string | undefined): Promise<boolean> {
    try {
      if (status === 401 || (status !== 429 && clientId === undefined)) {
        const { perMinute } = this.#parts
        return (await this.#hit(`address ${limitAddress(address)}`, OF_ADDRESS)) && (await this.#hit('all', perMinute))
      }
      if (clientId === undefined) return false
      return (await this.#hit(`client ${clientId}`, OF_CLIENT)) && (await this.#hit('clients', OF_CLIENTS))
    } catch (error) {
      if (error instanceof LimiterUnavailableError) return false
      throw error
    }
  }

  #hit(name: string, limit: number): MaybePromise<boolean> {
    return this.#parts.limits.hit(`refused ${name}`, limit)
  }
}

function countOf(sums: readonly RefusalSum[]): number {
  return sums.reduce((total, { count }) => total + count, 0)
}
