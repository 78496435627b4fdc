import type { DurableState } from '../state/durable-state.ts'
import type { StateUsage } from '../state/state-calls.ts'

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
