import { Channel } from './channel.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { ProcessLike } from '../process/lifecycle.ts'
import { Restarts } from './restarts.ts'

/** What a worker process gets from its supervisor. */
export interface WorkerStart<Begin> {
  /** Its number, from 1. A worker that replaces another has the same number. */
  readonly worker: number
  readonly workers: number
  readonly begin: Begin
  readonly channel: Channel
  /** For `runService`: the supervisor stops the workers, signals to a worker alone have no effect. */
  readonly process: ProcessLike
  /** Lets `/metrics` of this worker show the sums of all workers. */
  readonly shareMetrics: (metrics: Metrics) => void
  /** When workers of this service ended. */
  readonly restarts: Restarts
  /** Reports to the supervisor that this worker serves. */
  readonly started: () => void
}

/** The first message of the supervisor. */
export interface BeginMessage {
  readonly worker: number
  readonly workers: number
  readonly restarts: readonly number[]
  readonly begin: unknown
}

/**
 * Runs a worker process until its supervisor stops it. It ends at once when the supervisor has ended: a worker without
 * one could answer by a list that is no longer the newest. Everything acknowledged is stored by then.
 */
export async function runWorker<Begin>(serve: (start: WorkerStart<Begin>) => Promise<number>): Promise<number> {
  const send = process.send?.bind(process)
  if (send === undefined) throw new Error('this file is started by a supervisor')
  const stopped = new Set<(reason: unknown) => void>()
  let isStopping = false
  const begun = Promise.withResolvers<BeginMessage>()
  const restarts = new Restarts()
  // A terminal and a service manager send signals to all processes. The supervisor passes them on in order.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const channel = new Channel(
    {
      send: (message) => void send(message, undefined, {}, () => undefined),
      onMessage: (listener) => void process.on('message', listener),
      onEnd: (listener) => void process.once('disconnect', listener),
    },
    {
      begin: (message: BeginMessage) => {
        restarts.replace(message.restarts)
        begun.resolve(message)
      },
      restarts: (timesMs: readonly number[]) => restarts.replace(timesMs),
      stop: () => {
        isStopping = true
        for (const listener of stopped) listener('SIGTERM')
      },
      ping: () => true,
    },
  )
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  // The supervisor sends nothing before this: a message without a listener would be lost.
  channel.note('listening')
  const { worker, workers, begin } = await begun.promise
  return serve({
    worker,
    workers,
    begin: begin as Begin,
    channel,
    restarts,
    process: {
      on: (event, listener) => {
        if (event === 'SIGTERM') {
          stopped.add(listener)
          // A stop can arrive before the service listens for it.
          if (isStopping) setImmediate(() => listener('SIGTERM'))
        } else if (event !== 'SIGINT') process.on(event, listener)
      },
      exit: (code) => process.exit(code),
    },
    shareMetrics: (metrics) => {
      channel.serve({ snapshot: () => metrics.snapshot() })
      metrics.renderWith(() => channel.call('metrics', undefined))
    },
    started: () => channel.note('started'),
  })
}
