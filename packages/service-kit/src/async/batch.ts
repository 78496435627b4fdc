/** Too much waits already. The caller answers "try again later" instead of queueing without bound. */
export class BatchFullError extends Error {
  override readonly name = 'BatchFullError'
}

/** The batcher is closing and takes nothing more. */
export class BatchClosedError extends Error {
  override readonly name = 'BatchClosedError'
}

export interface BatchOptions<Item> {
  /** Items of one run at most. */
  readonly maxItems: number
  /** Items that may wait for a run; more are refused with {@link BatchFullError}. */
  readonly maxWaiting: number
  /** Weight of one run at most, bytes for example. A single heavier item still goes, alone. */
  readonly maxWeight?: number
  readonly weigh?: (item: Item) => number
  /** Puts each run off, so that more callers share it: until the end of the turn, for example. */
  readonly gather?: () => Promise<void>
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly weight: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

/**
 * Gathers work without a timer: one run at a time, and whatever arrived meanwhile goes with the next. Alone, a caller
 * does not wait. Under load, batches grow. First come, first served.
 */
export class Batcher<Item, Result> {
  readonly #run: (items: Item[]) => Promise<(Result | Error)[]>
  readonly #options: BatchOptions<Item>
  #waiting: Waiting<Item, Result>[] = []
  #running = false
  #closed = false
  #added = 0
  #settled = 0
  #flushes: { readonly upTo: number; readonly resolve: () => void }[] = []

  /**
   * `run` gives one entry per item, in their order: its result, or an error for that item alone. When it rejects, every
   * item of that run is refused with the same error, and later runs go on.
   */
  constructor(run: (items: Item[]) => Promise<(Result | Error)[]>, options: BatchOptions<Item>) {
    this.#run = run
    this.#options = options
  }

  /** Resolves or rejects after the run with this item. */
  add(item: Item): Promise<Result> {
    if (this.#closed) return Promise.reject(new BatchClosedError('closed'))
    const { maxWaiting, weigh } = this.#options
    if (this.#waiting.length >= maxWaiting)
      return Promise.reject(new BatchFullError(`${maxWaiting} items wait already`))
    const weight = weigh?.(item) ?? 0
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, weight, resolve, reject })
      this.#added += 1
      if (this.#running) return
      this.#running = true
      // After the current turn, so that callers who arrive together also go together.
      queueMicrotask(() => void this.#runAll())
    })
  }

  /** Resolves when everything added before this call is complete. */
  flush(): Promise<void> {
    if (this.#settled === this.#added) return Promise.resolve()
    return new Promise((resolve) => {
      this.#flushes.push({ upTo: this.#added, resolve })
    })
  }

  /** Accepts no more items and resolves when all accepted ones are complete. */
  close(): Promise<void> {
    this.#closed = true
    return this.flush()
  }

  async #runAll(): Promise<void> {
    const { gather } = this.#options
    while (this.#waiting.length > 0) {
      if (gather !== undefined) await gather()
      await this.#runOnce(this.#takeNext())
    }
    this.#running = false
  }

  #takeNext(): Waiting<Item, Result>[] {
    const { maxItems, maxWeight = Number.POSITIVE_INFINITY } = this.#options
    let weight = 0
    let count = 0
    for (const entry of this.#waiting) {
      weight += entry.weight
      if (count === maxItems || weight > maxWeight) break
      count += 1
    }
    // At least one: an item too heavy for any run would otherwise wait without end.
    return this.#waiting.splice(0, Math.max(count, 1))
  }

  async #runOnce(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#run(batch.map((entry) => entry.item))
      // Results are assigned by position: a wrong count would give a caller the result of another.
      if (results.length !== batch.length) throw new Error('a batch must give one result per item')
      for (const [index, entry] of batch.entries()) settle(entry, results[index])
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error('a batch failed', { cause: thrown })
      for (const entry of batch) entry.reject(error)
    }
    this.#settled += batch.length
    const done = this.#flushes.filter((flush) => flush.upTo <= this.#settled)
    this.#flushes = this.#flushes.filter((flush) => flush.upTo > this.#settled)
    for (const flush of done) flush.resolve()
  }
}

function settle<Item, Result>(entry: Waiting<Item, Result>, result: Result | Error | undefined): void {
  if (result instanceof Error) entry.reject(result)
  // The lengths are equal, so `undefined` here is a result of a run whose results are undefined.
  else entry.resolve(result as Result)
}
