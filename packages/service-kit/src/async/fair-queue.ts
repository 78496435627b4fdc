/** A request for a slot. */
export interface QueueSlot {
  /** Resolves to true when the slot is granted, to false when it was dropped before. */
  readonly granted: Promise<boolean>
  /**
   * Removes the request from the queue, because the caller has gone or its time is over. No effect on a granted slot.
   */
  drop(): void
  /** Returns a granted slot. */
  end(): void
}

export interface FairQueueLimits {
  /** Slots in use at the same time. */
  readonly atOnce: number
  /** Slots that one caller uses at the same time. Default: 1. */
  readonly atOnceOfCaller?: number
  /** After a use up to this length, the same caller may get the next slot without a pause. */
  readonly shortMs: number
  /** After a longer use, the caller pauses for the additional time multiplied by this factor. */
  readonly restFactor: number
  readonly restMaxMs: number
  /** Shortest pause, when there is one. */
  readonly restMinMs?: number
}

interface Waiting {
  readonly resolve: (isGranted: boolean) => void
}

interface CallerState {
  readonly waiting: Waiting[]
  busy: number
  restsUntil: number
}

/**
 * Queue for work that blocks the event loop for milliseconds. Each caller has its share of the slots. Callers are served
 * round robin, at most one per event loop turn. A caller that uses its slot for long must pause before the next one, so
 * that no caller gets more than its share of the loop's time.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits
  readonly #states = new Map<string, CallerState>()
  #busy = 0
  #isPlanned = false
  #rest: NodeJS.Timeout | undefined

  constructor(limits: FairQueueLimits) {
    this.#limits = limits
  }

  /** Number of callers that are active, queued or pausing. For tests. */
  get callers(): number {
    return this.#states.size
  }

  take(caller: string): QueueSlot {
    const state = this.#states.get(caller) ?? { waiting: [], busy: 0, restsUntil: 0 }
    this.#states.set(caller, state)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    let began: number | undefined
    const waiting: Waiting = {
      resolve: (isGranted) => {
        if (isGranted) began = performance.now()
        resolve(isGranted)
      },
    }
    state.waiting.push(waiting)
    this.#plan()
    return {
      granted: promise,
      drop: () => this.#drop(caller, state, waiting),
      end: () => {
        if (began === undefined) return
        this.#end(caller, state, performance.now() - began)
        began = undefined
      },
    }
  }

  #drop(caller: string, state: CallerState, waiting: Waiting): void {
    const at = state.waiting.indexOf(waiting)
    if (at === -1) return
    state.waiting.splice(at, 1)
    waiting.resolve(false)
    this.#removeIfIdle(caller, state)
  }

  #end(caller: string, state: CallerState, tookMs: number): void {
    const { shortMs, restFactor, restMaxMs, restMinMs = 0 } = this.#limits
    const longer = tookMs - shortMs
    const nextDelayMs = longer > 0 ? Math.min(restMaxMs, Math.max(restMinMs, longer * restFactor)) : 0
    state.busy -= 1
    state.restsUntil = performance.now() + nextDelayMs
    this.#busy -= 1
    // Moves the caller to the end of the round, after callers that arrived meanwhile.
    this.#states.delete(caller)
    this.#states.set(caller, state)
    this.#removeIfIdle(caller, state)
    this.#plan()
  }

  /** Grants the next slot in a later event loop turn, so that other work runs in between. */
  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      this.#beginNext()
    })
  }

  #beginNext(): void {
    if (this.#busy >= this.#limits.atOnce) return
    const now = performance.now()
    let wakeAt = Number.POSITIVE_INFINITY
    for (const [caller, state] of this.#states) {
      if (state.busy >= (this.#limits.atOnceOfCaller ?? 1)) continue
      if (state.restsUntil > now) {
        wakeAt = Math.min(wakeAt, state.restsUntil)
        continue
      }
      const next = state.waiting.shift()
      if (next === undefined) {
        this.#removeIfIdle(caller, state)
        continue
      }
      this.#begin(state, next)
      this.#plan()
      return
    }
    this.#wakeAt(wakeAt, now)
  }

  #begin(state: CallerState, next: Waiting): void {
    state.busy += 1
    this.#busy += 1
    next.resolve(true)
  }

  #wakeAt(instant: number, now: number): void {
    clearTimeout(this.#rest)
    if (instant === Number.POSITIVE_INFINITY) return
    this.#rest = setTimeout(() => this.#plan(), Math.ceil(instant - now))
    this.#rest.unref()
  }

  /** A pausing caller stays in the map: its next request must not start before the pause is over. */
  #removeIfIdle(caller: string, state: CallerState): void {
    const isIdle = state.busy === 0 && state.waiting.length === 0
    if (isIdle && state.restsUntil <= performance.now() && this.#states.get(caller) === state)
      this.#states.delete(caller)
  }
}
