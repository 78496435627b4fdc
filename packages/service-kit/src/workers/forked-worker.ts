import cluster, { type Worker } from 'node:cluster'
import { Channel } from './channel.ts'
import type { ChildProcess } from 'node:child_process'

/** A connection that the supervisor accepted. */
interface Connection {
  close(): void
}

interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * Closes the connections that a worker was given and did not take before it ended. `node:cluster` keeps them open in
 * the supervisor without a reader, so their callers would wait without end.
 */
function closeUntaken(worker: ChildProcess): void {
  const given = new Map<number, Connection>()
  const send = worker.send.bind(worker) as (...values: readonly unknown[]) => boolean
  worker.send = ((message: ClusterMessage, connection?: Connection, ...more: readonly unknown[]) => {
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && message.seq !== undefined && connection)
      given.set(message.seq, connection)
    return send(message, connection, ...more)
  }) as typeof worker.send
  worker.on('internalMessage', ({ cmd, ack }: ClusterMessage) => {
    if (cmd === 'NODE_CLUSTER' && ack !== undefined) given.delete(ack)
  })
  // Not at `disconnect`, which Node does not emit while a connection is on its way. No process reads from them now.
  worker.once('exit', () => {
    for (const connection of given.values()) connection.close()
    given.clear()
  })
}

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
