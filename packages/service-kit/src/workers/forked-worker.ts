import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { Channel } from './channel.ts'
import { closeUntaken } from './handed-over.ts'

/** A worker process as the parts of a supervisor use it. */
export interface SupervisedWorker {
  readonly worker: number
  readonly channel: Channel
  readonly isServing: boolean
  /** Resolves when the process has ended. From then on it answers no request. */
  readonly ended: Promise<void>
  /** kill -9. */
  kill(): void
}

/** A worker process of `node:cluster`, which shares the listeners. */
export class ForkedWorker implements SupervisedWorker {
  readonly worker: number
  readonly channel: Channel
  /** Resolves with the exit code or the signal. */
  readonly ending: Promise<number | string>
  readonly ended: Promise<void>
  readonly pid: number
  /** Resolves when the worker receives messages. */
  readonly listening: Promise<void>
  isAsked = false
  readonly #forked: Worker
  #isServing = false

  constructor(worker: number, onServing: () => void) {
    this.worker = worker
    const forked = cluster.fork()
    this.#forked = forked
    closeUntaken(forked.process)
    this.pid = forked.process.pid ?? 0
    const ending = Promise.withResolvers<number | string>()
    const listening = Promise.withResolvers<void>()
    this.listening = listening.promise
    this.ending = ending.promise
    this.ended = ending.promise.then(() => undefined)
    forked.on('exit', (code: number | null, signal: string | null) => ending.resolve(signal ?? code ?? 1))
    // A process that could not be created has no exit, and a message to one that ends cannot be sent.
    forked.on('error', () => {
      if (forked.process.pid === undefined) ending.resolve(1)
    })
    this.channel = new Channel(
      {
        send: (message) => void forked.send(message as never, () => undefined),
        onMessage: (listener) => void forked.on('message', listener),
        onEnd: (listener) => {
          forked.once('disconnect', listener)
          void this.ended.then(listener)
        },
      },
      {
        listening: () => listening.resolve(),
        started: () => {
          this.#isServing = true
          onServing()
        },
      },
    )
  }

  get isServing(): boolean {
    return this.#isServing
  }

  kill(): void {
    this.#forked.process.kill('SIGKILL')
  }
}
