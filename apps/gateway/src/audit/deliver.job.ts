import { isJsonObject, readJsonBytes } from '@chancery/protocol'
import { sleep, toError } from '@chancery/service-kit'
import type { Log } from '@chancery/service-kit'
import { callUrl } from '../outbound/call-url.ts'
import type { DurableState } from '../state/durable-state.ts'
import type { PendingEvent } from '../state/state-calls.ts'

export interface DeliveryParts {
  readonly state: DurableState
  readonly url: URL
  /** Its name may stand for a private address. */
  readonly allowPrivate: boolean
  /** Read at each delivery: a reload may have changed it. */
  readonly secrets: () => { readonly token: string | undefined; readonly extraRoots: readonly string[] }
  readonly log: Log
  /** Pause between deliveries; the specified one when absent. */
  readonly everyMs?: number
}

const EVERY_MS = 5000
const MAX_BACK_OFF_MS = 60_000
const BATCH = 100
const CALL_MS = 5000
const MAX_ANSWER_BYTES = 65_536
/** The collector read what was sent and will not have it; any other failure says nothing about the events. */
const REFUSING: ReadonlySet<number> = new Set([400, 413, 422])

/** more: go on at once. idle: after the usual pause. failed: after a pause that grows. */
type Progress = 'more' | 'idle' | 'failed'

/**
 * Delivers kept events to the collector, oldest first, at least once and always with the same ids (protocol/gateway
 * 16.4). Only an id the collector names is delivered; an HTTP success alone says nothing. An event it never takes is
 * looked for by halving what is sent, and set aside after ten attempts; a collector that cannot be reached costs no
 * attempts, so that a long outage changes nothing about the order.
 */
export class AuditDelivery {
  readonly #parts: DeliveryParts
  readonly #everyMs: number
  readonly #stop = new AbortController()
  readonly #loop: Promise<void>
  /** Events of one delivery; less than {@link BATCH} while a refused one is looked for. */
  #limit = BATCH
  /** When those set aside are tried again, on the monotonic clock. */
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
    const taken = events.filter(({ id }) => acknowledged.has(id))
    await this.#settle(taken, passedOver(events, taken))
    if (taken.length === 0) return 'failed'
    this.#limit = Math.min(BATCH, this.#limit * 2)
    return 'more'
  }

  /** Refused as a whole: half of it next, until one event alone is refused. That one was tried. */
  async #narrow(events: readonly PendingEvent[]): Promise<Progress> {
    if (events.length > 1) {
      this.#limit = Math.ceil(events.length / 2)
      return 'more'
    }
    await this.#settle([], events)
    return 'idle'
  }

  /** Those set aside are offered once a minute and only when nothing waits, so that they hold nobody up. */
  async #retryAside(): Promise<void> {
    const { state } = this.#parts
    const now = performance.now()
    if (now < this.#asideMs) return
    this.#asideMs = now + MAX_BACK_OFF_MS
    const events = await state.pending(BATCH, 'set-aside')
    const acknowledged = events.length === 0 ? 'refused' : await this.#send(events)
    if (acknowledged === 'refused') return
    const taken = events.filter(({ id }) => acknowledged.has(id))
    await this.#settle(taken, [])
  }

  async #settle(taken: readonly PendingEvent[], refused: readonly PendingEvent[]): Promise<void> {
    const { state, log } = this.#parts
    const setAside = await state.settle(taken.map(toSequence), refused.map(toSequence))
    if (setAside > 0) log.error('the collector refuses events; they are set aside', { alarm: true, count: setAside })
  }

  async #send(events: readonly PendingEvent[]): Promise<ReadonlySet<string> | 'refused'> {
    const { url, allowPrivate, secrets } = this.#parts
    const { token, extraRoots } = secrets()
    const answer = await callUrl({
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
      maxBytes: MAX_ANSWER_BYTES,
      signal: this.#stop.signal,
    })
    if (REFUSING.has(answer.status)) return 'refused'
    if (answer.status !== 200) throw new Error(`the collector answered ${answer.status}`)
    const value = readJsonBytes(answer.body)
    const ids = isJsonObject(value) ? value['acknowledged_ids'] : undefined
    if (!Array.isArray(ids)) throw new Error('the collector acknowledged nothing')
    return new Set(ids.filter((id): id is string => typeof id === 'string'))
  }
}

/**
 * What the collector saw and did not take: everything before the last event it took. The rest it may just not have come
 * to, unless it took nothing at all.
 */
function passedOver(events: readonly PendingEvent[], taken: readonly PendingEvent[]): readonly PendingEvent[] {
  const last = taken.at(-1)?.sequence
  if (last === undefined) return events
  const known = new Set(taken)
  return events.filter((event) => event.sequence < last && !known.has(event))
}

function toSequence({ sequence }: PendingEvent): number {
  return sequence
}
