import { type Transferable, Worker, type WorkerOptions } from 'node:worker_threads'

/** A call to another thread, and its result. */
export interface CallMessage {
  readonly call: number
  readonly operation: string
  readonly argument: unknown
}
export type ReplyMessage =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly failure: { readonly name: string; readonly message: string } }

/** The other thread ended before it returned a result. */
export class ThreadEndedError extends Error {
  override readonly name = 'ThreadEndedError'
}

/** A failure inside the other thread; `kind` is the class of the error there. */
export class ThreadError extends Error {
  override readonly name = 'ThreadError'
  readonly kind: string

  constructor(kind: string, message: string) {
    super(message)
    this.kind = kind
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout | undefined
}

export interface ThreadOptions extends Pick<WorkerOptions, 'workerData' | 'env'> {
  /** A thread that does not finish a call within this time is ended. Default: no limit. */
  readonly limitMs?: number
}

/** A thread that runs calls. When it ends, all open and later calls fail. */
export class Thread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #limitMs: number | undefined
  #calls = 0
  #ended = false

  /** `name` is a file in the folder of `from`, without its extension, which differs between sources and build. */
  constructor(name: string, from: string, { limitMs, ...options }: ThreadOptions = {}) {
    this.#limitMs = limitMs
    const extension = from.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`${name}.${extension}`, from), options)
    this.#worker.on('message', (reply: ReplyMessage) => this.#settle(reply))
    this.#worker.on('error', (cause) => this.#end(cause))
    this.#worker.on('exit', () => this.#end())
    // An idle thread must not prevent a command from ending.
    this.#worker.unref()
  }

  get hasEnded(): boolean {
    return this.#ended
  }

  /** The caller chooses the result type: both sides are compiled from one interface. */
  call<Value>(operation: string, argument: unknown, transfer: readonly Transferable[] = []): Promise<Value> {
    if (this.#ended) return Promise.reject(new ThreadEndedError('the thread has ended'))
    this.#calls += 1
    const call = this.#calls
    return new Promise<Value>((resolve, reject) => {
      // Throws for an argument that cannot be copied. Then no reply comes, so nothing waits for one.
      this.#worker.postMessage({ call, operation, argument } satisfies CallMessage, [...transfer])
      this.#worker.ref()
      const timer = this.#limitMs === undefined ? undefined : setTimeout(() => this.#hang(), this.#limitMs)
      this.#waiting.set(call, { resolve: resolve as (value: unknown) => void, reject, timer })
    })
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #settle(reply: ReplyMessage): void {
    const waiting = this.#waiting.get(reply.call)
    this.#waiting.delete(reply.call)
    if (this.#waiting.size === 0) this.#worker.unref()
    clearTimeout(waiting?.timer)
    if ('failure' in reply) waiting?.reject(new ThreadError(reply.failure.name, reply.failure.message))
    else waiting?.resolve(reply.value)
  }

  /** It may hold its core without end, so it is ended with all its calls. */
  #hang(): void {
    this.#end(undefined, 'the thread did not finish in time and was ended')
    void this.#worker.terminate()
  }

  #end(cause?: unknown, message = 'the thread has ended'): void {
    this.#ended = true
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      reject(new ThreadEndedError(message, { cause }))
    }
    this.#waiting.clear()
  }
}
