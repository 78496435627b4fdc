import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import { KeepAliveClient } from './latencies.ts'

interface ProbeTask {
  readonly probe: string
  readonly everyMs: number
}

/**
 * Calls the cheapest route every few milliseconds: whatever blocks the event loop of the authority also delays these
 * calls. Runs in a separate thread, so that work of the campaign is not measured.
 */
export class LoopProbe {
  readonly #worker: Worker

  constructor(url: string, everyMs: number) {
    const task: ProbeTask = { probe: url, everyMs }
    this.#worker = new Worker(new URL(import.meta.url), { workerData: task, execArgv: process.execArgv })
  }

  /** Milliseconds of every response. */
  async stop(): Promise<readonly number[]> {
    const reply = once(this.#worker, 'message')
    this.#worker.postMessage('stop')
    const [delays] = (await reply) as [readonly number[]]
    await this.#worker.terminate()
    return delays
  }
}

async function probe({ probe: url, everyMs }: ProbeTask): Promise<void> {
  const caller = new KeepAliveClient(url)
  const delays: number[] = []
  const under: Promise<unknown>[] = []
  let isRunning = true
  parentPort?.once('message', () => {
    isRunning = false
  })
  let due = performance.now()
  while (isRunning) {
    // A waiting call does not delay the next one, so many calls measure a blocked loop.
    under.push(caller.send({ method: 'GET', path: '/healthz' }).then(({ milliseconds }) => delays.push(milliseconds)))
    due += everyMs
    await pause(Math.max(0, due - performance.now()))
  }
  await Promise.allSettled(under)
  caller.close()
  parentPort?.postMessage(delays)
}

/** Returns one gauge of GET /metrics. */
export async function readGauge(url: string, name: string): Promise<number> {
  const caller = new KeepAliveClient(url)
  try {
    const { text } = await caller.send({ method: 'GET', path: '/metrics' })
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  } finally {
    caller.close()
  }
}

if (!isMainThread && (workerData as Partial<ProbeTask> | null)?.probe !== undefined) void probe(workerData as ProbeTask)
