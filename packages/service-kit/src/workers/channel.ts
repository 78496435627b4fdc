/** The part of a process channel that is used here. Both ends of `fork` have it. */
export interface ChannelPort {
  send(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  /** Called once when the other process has ended or closed the channel. */
  onEnd(listener: () => void): void
}

/** What one process does for the other, by name. */
export type ChannelOperations = Readonly<Record<string, (argument: never) => unknown>>

type Message =
  | { readonly kind: 'call'; readonly call: number; readonly operation: string; readonly argument: unknown }
  | { readonly kind: 'note'; readonly operation: string; readonly argument: unknown }
  | { readonly kind: 'value'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly call: number; readonly name: string; readonly message: string }

/** The other process ended, or did not answer in time. */
export class ChannelEndedError extends Error {
  override readonly name = 'ChannelEndedError'
}

/** A failure in the other process; `kind` is the class of the error there. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError'
  readonly kind: string

  constructor(kind: string, message: string) {
    super(message)
    this.kind = kind
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * Calls between a supervisor and one worker. Messages arrive in the order in which they were sent. All messages of one
 * turn of the event loop are sent together, because each message costs a system call on both sides.
 */
export class Channel {
  readonly #port: ChannelPort
  readonly #waiting = new Map<number, Waiting>()
  #operations: ChannelOperations
  #queue: Message[] = []
  #calls = 0
  #hasEnded = false

  constructor(port: ChannelPort, operations: ChannelOperations = {}) {
    this.#port = port
    this.#operations = operations
    port.onMessage((messages) => {
      if (Array.isArray(messages)) for (const message of messages as readonly Message[]) this.#receive(message)
    })
    port.onEnd(() => this.#end())
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Adds operations that the other process may call. */
  serve(operations: ChannelOperations): void {
    this.#operations = { ...this.#operations, ...operations }
  }

  /** The caller chooses the result type: both processes run the same release. */
  call<Value>(operation: string, argument: unknown, limitMs?: number): Promise<Value> {
    if (this.#hasEnded) return Promise.reject(new ChannelEndedError('the other process has ended'))
    this.#calls += 1
    const call = this.#calls
    return new Promise<Value>((resolve, reject) => {
      const timer =
        limitMs === undefined ? undefined : setTimeout(() => this.#fail(call, 'did not answer in time'), limitMs)
      this.#waiting.set(call, {
        resolve: (value) => {
          clearTimeout(timer)
          resolve(value as Value)
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        },
      })
      this.#send({ kind: 'call', call, operation, argument })
    })
  }

  /** Sends without an answer. */
  note(operation: string, argument?: unknown): void {
    if (!this.#hasEnded) this.#send({ kind: 'note', operation, argument })
  }

  #send(message: Message): void {
    this.#queue.push(message)
    if (this.#queue.length === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const messages = this.#queue
    this.#queue = []
    if (!this.#hasEnded) this.#port.send(messages)
  }

  #receive(message: Message): void {
    switch (message.kind) {
      case 'call':
        void this.#answer(message)
        return
      case 'note':
        void this.#run(message).catch(() => undefined)
        return
      case 'value':
        this.#take(message.call)?.resolve(message.value)
        return
      default:
        this.#take(message.call)?.reject(new ChannelError(message.name, message.message))
    }
  }

  async #answer(message: Extract<Message, { kind: 'call' }>): Promise<void> {
    const { call } = message
    try {
      const value = await this.#run(message)
      if (!this.#hasEnded) this.#send({ kind: 'value', call, value })
    } catch (thrown) {
      const { name, message: text } = thrown instanceof Error ? thrown : new Error('thrown')
      if (!this.#hasEnded) this.#send({ kind: 'failure', call, name, message: text })
    }
  }

  async #run({ operation, argument }: { readonly operation: string; readonly argument: unknown }): Promise<unknown> {
    const found = Object.hasOwn(this.#operations, operation) ? this.#operations[operation] : undefined
    if (found === undefined) throw new Error(`there is no operation ${operation}`)
    return found(argument as never)
  }

  #take(call: number): Waiting | undefined {
    const waiting = this.#waiting.get(call)
    this.#waiting.delete(call)
    return waiting
  }

  #fail(call: number, reason: string): void {
    this.#take(call)?.reject(new ChannelEndedError(`the other process ${reason}`))
  }

  #end(): void {
    this.#hasEnded = true
    for (const call of this.#waiting.keys()) this.#fail(call, 'has ended')
  }
}
