import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

interface RecordedResponse {
  readonly status: number
  readonly text: string
  readonly etag: string | undefined
  readonly milliseconds: number
}

interface KeptRequest {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A caller with keep-alive connections, so that it measures the response without the handshake. */
class KeepAliveClient {
  readonly #agent = new Agent({ keepAlive: true })
  readonly #url: URL

  constructor(url: string) {
    this.#url = new URL(url)
  }

  send({ method, path, body, headers = {} }: KeptRequest): Promise<RecordedResponse> {
    const { hostname, port } = this.#url
    const sized =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    return new Promise((resolve, reject) => {
      const started = performance.now()
      const options = { hostname, port, method, path, agent: this.#agent, headers: { ...sized, ...headers } }
      const call = request(options, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const milliseconds = performance.now() - started
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: answer.statusCode ?? 0, text, etag: answer.headers.etag, milliseconds })
        })
      })
      // A keep-alive connection may be closed at the moment it is used again. A retry is safe for reads only.
      call.on('error', (error) => {
        if (method === 'GET' && call.reusedSocket) resolve(this.send({ method, path, headers }))
        else reject(error)
      })
      call.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Returns the quantile for a share; not-a-number without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

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
