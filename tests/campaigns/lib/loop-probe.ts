import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import { KeepAliveClient } from './latencies.ts'

interface ProbeTask {
  readonly probe: string
  readonly everyMs: number
}

/**
 * Asks for the cheapest route every few milliseconds: whatever holds the authority's event loop holds these up, too.
 * In a thread of its own, so that the campaign's own work is not taken for the authority's.
 */
export class LoopProbe {
  readonly #worker: Worker

  constructor(url: string, everyMs: number) {
    const task: ProbeTask = { probe: url, everyMs }
    this.#worker = new Worker(new URL(import.meta.url), { workerData: task, execArgv: process.execArgv })
  }

  /** Milliseconds of every answer. */
  async stop(): Promise<readonly number[]> {
    const told = once(this.#worker, 'message')
    this.#worker.postMessage('stop')
    const [delays] = (await told) as [readonly number[]]
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
    // One that waits does not keep the next from being sent: a held loop is met by many.
    under.push(caller.send({ method: 'GET', path: '/healthz' }).then(({ milliseconds }) => delays.push(milliseconds)))
    due += everyMs
    await pause(Math.max(0, due - performance.now()))
  }
  await Promise.allSettled(under)
  caller.close()
  parentPort?.postMessage(delays)
}

/** One gauge of GET /metrics. */
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
