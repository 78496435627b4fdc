import { isJsonObject, readJsonBytes } from '@chancery/protocol'
import { type Log, callUrl, sleep, toError } from '@chancery/service-kit'
import type { DurableState } from '../state/durable-state.ts'
import type { PendingEvent } from '../state/verify-state.ts'

export interface DeliveryParts {
  readonly state: DurableState
  readonly url: URL
  /** The host name may resolve to a private address. */
  readonly allowPrivate: boolean
  /** Read at each delivery, because a reload may change it. */
  readonly reloaded: () => {
    readonly token: string | undefined
    readonly extraRoots: readonly string[]
  }
  readonly log: Log
  /** Pause between deliveries. Default: the value of the protocol. */
  readonly everyMs?: number
}

const EVERY_MS = 5000
const MAX_BACK_OFF_MS = 60_000
const BATCH = 100
const CALL_MS = 5000
const MAX_RESPONSE_BYTES = 65_536
/** The collector received the events and refused them. Any other failure proves nothing about the events. */
const REFUSING: ReadonlySet<number> = new Set([400, 413, 422])

/** more: continue immediately. idle: wait for the usual pause. failed: wait for a growing pause. */
type Progress = 'more' | 'idle' | 'failed'

/**
 * Delivers stored events to the collector, oldest first, at least once and always with the same ids (protocol/gateway
 * 16.4). An event is delivered when the collector names its id; an HTTP success alone proves nothing. An event that the
 * collector refuses is found by halving the batch, and is moved to the rejected queue after ten attempts. An
 * unreachable collector uses up no attempts, so a long outage does not change the order.
 */
export class AuditDelivery {
  readonly #parts: DeliveryParts
  readonly #everyMs: number
  readonly #stop = new AbortController()
  readonly #loop: Promise<void>
  /** Events in one delivery. Less than {@link BATCH} while a refused event is searched for. */
  #limit = BATCH
  /** Time of the next attempt for the rejected queue, on the monotonic clock. */
  #asideMs = 0

  constructor(parts: DeliveryParts) {
    this.#parts = parts
    this.#everyMs = parts.everyMs ?? EVERY_MS
    this.#loop = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    let failures = 0
    while (!signal.aborted) {
      const progress = await this.#deliverOnce()
      failures = progress === 'failed' ? failures + 1 : 0
      if (progress === 'more') continue
      await sleep(Math.min(this.#everyMs * 2 ** Math.max(0, failures - 1), MAX_BACK_OFF_MS), signal)
    }
  }

  async #deliverOnce(): Promise<Progress> {
    const { state, log } = this.#parts
    if (!state.isHealthy) return 'idle'
    try {
      const waiting = await state.pending(this.#limit, 'waiting')
      if (waiting.length > 0) return await this.#deliver(waiting)
      await this.#retryAside()
      return 'idle'
    } catch (thrown) {
      if (!this.#stop.signal.aborted) log.warn('audit events not delivered', { error: toError(thrown) })
      return 'failed'
    }
  }

  async #deliver(events: readonly PendingEvent[]): Promise<Progress> {
    const acknowledged = await this.#send(events)
    if (acknowledged === 'refused') return this.#narrow(events)
    const accepted = events.filter(({ id }) => acknowledged.has(id))
    await this.#settle(accepted, findSkipped(events, accepted))
    if (accepted.length === 0) return 'failed'
    this.#limit = Math.min(BATCH, this.#limit * 2)
    return 'more'
  }

  /** Halves a refused batch, until one event alone is refused. That event has used one attempt. */
  async #narrow(events: readonly PendingEvent[]): Promise<Progress> {
    if (events.length > 1) {
      this.#limit = Math.ceil(events.length / 2)
      return 'more'
    }
    await this.#settle([], events)
    return 'idle'
  }

  /** Sends the rejected queue once a minute, and only when no other event waits, so that it delays no other event. */
  async #retryAside(): Promise<void> {
    const { state } = this.#parts
    const now = performance.now()
    if (now < this.#asideMs) return
    this.#asideMs = now + MAX_BACK_OFF_MS
    const events = await state.pending(BATCH, 'rejected')
    const acknowledged = events.length === 0 ? 'refused' : await this.#send(events)
    if (acknowledged === 'refused') return
    const accepted = events.filter(({ id }) => acknowledged.has(id))
    await this.#settle(accepted, [])
  }

  async #settle(accepted: readonly PendingEvent[], refused: readonly PendingEvent[]): Promise<void> {
    const { state, log } = this.#parts
    const rejected = await state.complete(accepted.map(toSequence), refused.map(toSequence))
    if (rejected > 0)
      log.error('collector rejected audit events; moved to the rejected queue', { alarm: true, count: rejected })
  }

  async #send(events: readonly PendingEvent[]): Promise<ReadonlySet<string> | 'refused'> {
    const { url, allowPrivate, reloaded } = this.#parts
    const { token, extraRoots } = reloaded()
    const response = await callUrl({
      url,
      allowPrivate,
      extraRoots,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: `{"events":[${events.map(({ id, text }) => `{"id":${JSON.stringify(id)},"event":${text}}`).join(',')}]}`,
      timeoutMs: CALL_MS,
      maxBytes: MAX_RESPONSE_BYTES,
      signal: this.#stop.signal,
    })
    if (REFUSING.has(response.status)) return 'refused'
    if (response.status !== 200) throw new Error(`the collector responded ${response.status}`)
    const value = readJsonBytes(response.body)
    const ids = isJsonObject(value) ? value['acknowledged_ids'] : undefined
    if (!Array.isArray(ids)) throw new Error('the collector acknowledged nothing')
    return new Set(ids.filter((id): id is string => typeof id === 'string'))
  }
}

/**
 * Returns the events that the collector skipped: all events before the last one it acknowledged. It may not have read
 * the later ones yet, unless it acknowledged none.
 */
function findSkipped(events: readonly PendingEvent[], accepted: readonly PendingEvent[]): readonly PendingEvent[] {
  const last = accepted.at(-1)?.sequence
  if (last === undefined) return events
  const known = new Set(accepted)
  return events.filter((event) => event.sequence < last && !known.has(event))
}

function toSequence({ sequence }: PendingEvent): number {
  return sequence
}
