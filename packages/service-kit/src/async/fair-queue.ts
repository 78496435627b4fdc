/** A turn that was asked for. */
export interface QueueSlot {
  /** True when the turn has come; false when it was dropped before. */
  readonly come: Promise<boolean>
  /** The caller has gone, or the time for its answer is over: it waits no longer. Has no effect once the turn came. */
  drop(): void
  /** Ends a turn that came. */
  end(): void
}

export interface FairQueueLimits {
  /** Turns under way at once, of different callers. */
  readonly atOnce: number
  /** A turn of this length is short: the same caller gets the next one without a rest. */
  readonly shortMs: number
  /** After a longer turn a caller rests so many times as long as the turn was longer than a short one. */
  readonly restFactor: number
  readonly restMaxMs: number
  /** Of a rest, when there is one. */
  readonly restMinMs?: number
}

interface Waiting {
  readonly settle: (isTurn: boolean) => void
}

interface Line {
  readonly waiting: Waiting[]
  isBusy: boolean
  restsUntil: number
}

/**
 * Turns for work that holds the event loop for milliseconds. Each caller has one turn at a time, callers take turns in
 * a circle, one turn begins per turn of the event loop, and a caller whose turns are long rests in between: one caller
 * gets only a part of the loop's time, however much it asks for.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits
  readonly #lines = new Map<string, Line>()
  #busy = 0
  #isPlanned = false
  #rest: NodeJS.Timeout | undefined

  constructor(limits: FairQueueLimits) {
    this.#limits = limits
  }

  /** Callers with a turn, waiting or at rest; for tests. */
  get callers(): number {
    return this.#lines.size
  }

  take(caller: string): QueueSlot {
    const line = this.#lines.get(caller) ?? { waiting: [], isBusy: false, restsUntil: 0 }
    this.#lines.set(caller, line)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    let began: number | undefined
    const waiting: Waiting = {
      settle: (isTurn) => {
        if (isTurn) began = performance.now()
        resolve(isTurn)
      },
    }
    line.waiting.push(waiting)
    this.#plan()
    return {
      come: promise,
      drop: () => this.#drop(caller, line, waiting),
      end: () => {
        if (began === undefined) return
        this.#end(caller, line, performance.now() - began)
        began = undefined
      },
    }
  }

  #drop(caller: string, line: Line, waiting: Waiting): void {
    const at = line.waiting.indexOf(waiting)
    if (at === -1) return
    line.waiting.splice(at, 1)
    waiting.settle(false)
    this.#forget(caller, line)
  }

  #end(caller: string, line: Line, tookMs: number): void {
    const { shortMs, restFactor, restMaxMs, restMinMs = 0 } = this.#limits
    const longer = tookMs - shortMs
    const nextDelayMs = longer > 0 ? Math.min(restMaxMs, Math.max(restMinMs, longer * restFactor)) : 0
    line.isBusy = false
    line.restsUntil = performance.now() + nextDelayMs
    this.#busy -= 1
    // To the end of the circle, after callers that came meanwhile.
    this.#lines.delete(caller)
    this.#lines.set(caller, line)
    this.#forget(caller, line)
    this.#plan()
  }

  /** A turn begins when others had theirs: never in the same turn of the event loop as the one before. */
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
    for (const [caller, line] of this.#lines) {
      if (line.isBusy) continue
      if (line.restsUntil > now) {
        wakeAt = Math.min(wakeAt, line.restsUntil)
        continue
      }
      const next = line.waiting.shift()
      if (next === undefined) {
        this.#lines.delete(caller)
        continue
      }
      this.#begin(line, next)
      this.#plan()
      return
    }
    this.#wakeAt(wakeAt, now)
  }

  #begin(line: Line, next: Waiting): void {
    line.isBusy = true
    this.#busy += 1
    next.settle(true)
  }

  #wakeAt(instant: number, now: number): void {
    clearTimeout(this.#rest)
    if (instant === Number.POSITIVE_INFINITY) return
    this.#rest = setTimeout(() => this.#plan(), Math.ceil(instant - now))
    this.#rest.unref()
  }

  /** A resting caller stays listed: its next request must not begin before the rest is over. */
  #forget(caller: string, line: Line): void {
    const isIdle = !line.isBusy && line.waiting.length === 0
    if (isIdle && line.restsUntil <= performance.now() && this.#lines.get(caller) === line) this.#lines.delete(caller)
  }
}
