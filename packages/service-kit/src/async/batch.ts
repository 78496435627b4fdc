/** The queue is full. The caller responds "try again later" instead of queueing without a limit. */
export class BatchFullError extends Error {
  override readonly name = 'BatchFullError'
}

/** The batcher is closing and accepts no more items. */
export class BatchClosedError extends Error {
  override readonly name = 'BatchClosedError'
}

export interface BatchOptions<Item> {
  /** Maximum number of items in one run. */
  readonly maxItems: number
  /** Items that may wait for a run; more are refused with {@link BatchFullError}. */
  readonly maxWaiting: number
  /** Maximum weight of one run, in bytes for example. A heavier item runs alone. */
  readonly maxWeight?: number
  readonly weigh?: (item: Item) => number
  /** Delays each run so that more callers share it, for example until the end of the loop turn. */
  readonly delay?: () => Promise<void>
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly weight: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

/**
 * Collects items into batches without a timer. One run is active at a time; items that arrive during it form the next
 * run. A single caller does not wait. Under load, batches grow. Items run in the order of arrival.
 */
export class Batcher<Item, Result> {
  readonly #run: (items: Item[]) => Promise<(Result | Error)[]>
  readonly #options: BatchOptions<Item>
  #waiting: Waiting<Item, Result>[] = []
  #running = false
  #closed = false
  #added = 0
  #completed = 0
  #flushes: { readonly upTo: number; readonly resolve: () => void }[] = []

  /**
   * `run` returns one entry per item, in order: a result, or an error for that item only. When `run` rejects, all its
   * items are refused with that error. Later runs are not affected.
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
      // Starts after the current loop turn, so that callers of the same turn share a run.
      queueMicrotask(() => void this.#runAll())
    })
  }

  /** Resolves when everything added before this call is complete. */
  flush(): Promise<void> {
    if (this.#completed === this.#added) return Promise.resolve()
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
    const { delay } = this.#options
    while (this.#waiting.length > 0) {
      if (delay !== undefined) await delay()
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
    // At least one item: an item heavier than the limit would otherwise never run.
    return this.#waiting.splice(0, Math.max(count, 1))
  }

  async #runOnce(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#run(batch.map((entry) => entry.item))
      // Results are assigned by position. A wrong count would give a caller another caller's result.
      if (results.length !== batch.length) throw new Error('a batch must return one result per item')
      for (const [index, entry] of batch.entries()) settle(entry, results[index])
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error('a batch failed', { cause: thrown })
      for (const entry of batch) entry.reject(error)
    }
    this.#completed += batch.length
    const done = this.#flushes.filter((flush) => flush.upTo <= this.#completed)
    this.#flushes = this.#flushes.filter((flush) => flush.upTo > this.#completed)
    for (const flush of done) flush.resolve()
  }
}

function settle<Item, Result>(entry: Waiting<Item, Result>, result: Result | Error | undefined): void {
  if (result instanceof Error) entry.reject(result)
  // The lengths are equal, so `undefined` here is a result of a run whose results are undefined.
  else entry.resolve(result as Result)
}

/**
 * Resolves after every connection with data in this event loop turn has been read. Work delayed until then is shared by
 * all requests of the turn. A single caller waits a few microseconds.
 */
export function endOfLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
