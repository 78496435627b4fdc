import { isJsonObject, readJsonBytes } from '@chancery/protocol'
import { sleep, toError } from '@chancery/service-kit'
import type { Log } from '@chancery/service-kit'
import { callUrl } from '../outbound/call-url.ts'
import type { DurableState } from '../state/durable-state.ts'
import type { PendingEvent } from '../state/state-calls.ts'

export interface DeliveryParts {
  readonly state: DurableState
  readonly url: URL
  /** Read at each delivery: a reload may have changed it. */
  readonly secrets: () => { readonly token: string | undefined; readonly extraRoots: readonly string[] }
  readonly log: Log
}

const EVERY_MS = 5000
const MAX_BACK_OFF_MS = 60_000
const BATCH = 100
const CALL_MS = 5000
const MAX_ANSWER_BYTES = 65_536

/**
 * Delivers kept events to the collector, oldest first, at least once and always with the same ids (protocol/gateway
 * 16.4). Only an id the collector names is delivered; an HTTP success alone says nothing.
 */
export class AuditDelivery {
  readonly #parts: DeliveryParts
  readonly #stop = new AbortController()
  readonly #loop: Promise<void>

  constructor(parts: DeliveryParts) {
    this.#parts = parts
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
      if (progress === 'more') continue
      failures = progress === 'failed' ? failures + 1 : 0
      await sleep(Math.min(EVERY_MS * 2 ** Math.max(0, failures - 1), MAX_BACK_OFF_MS), signal)
    }
  }

  async #deliverOnce(): Promise<'more' | 'idle' | 'failed'> {
    const { state, log } = this.#parts
    if (!state.isHealthy) return 'idle'
    try {
      const events = await state.pending(BATCH)
      if (events.length === 0) return 'idle'
      const acknowledged = await this.#send(events)
      const taken = events.filter(({ id }) => acknowledged.has(id))
      const refused = events.filter(({ id }) => !acknowledged.has(id))
      const setAside = await state.settle(taken.map(toSequence), refused.map(toSequence))
      if (setAside > 0) log.error('the collector refuses events', { alarm: true, count: setAside })
      if (taken.length === 0) return 'failed'
      return events.length === BATCH || refused.length === 0 ? 'more' : 'idle'
    } catch (thrown) {
      if (!this.#stop.signal.aborted) log.warn('audit events not delivered', { error: toError(thrown) })
      return 'failed'
    }
  }

  async #send(events: readonly PendingEvent[]): Promise<ReadonlySet<string>> {
    const { url, secrets } = this.#parts
    const { token, extraRoots } = secrets()
    const answer = await callUrl({
      url,
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
    if (answer.status !== 200) throw new Error(`the collector answered ${answer.status}`)
    const value = readJsonBytes(answer.body)
    const ids = isJsonObject(value) ? value['acknowledged_ids'] : undefined
    if (!Array.isArray(ids)) throw new Error('the collector acknowledged nothing')
    return new Set(ids.filter((id): id is string => typeof id === 'string'))
  }
}

function toSequence({ sequence }: PendingEvent): number {
  return sequence
}
