import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { AuditKeys } from './audit-keys.ts'
import type { ExaminedLines } from './audit-thread.ts'

/** Small heaps: a block of lines is all a thread ever holds, and what it throws away must not pile up. */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 512 }

interface Waiting {
  resolve(examined: ExaminedLines): void
  reject(error: Error): void
}

/** One thread for each core. Blocks go to them in turn and come back in the order they were given. */
export class AuditThreads {
  readonly #threads: { readonly worker: Worker; readonly waiting: Waiting[] }[]
  #given = 0

  constructor(keys: AuditKeys) {
    const from = import.meta.url
    const file = new URL(`audit-thread.${from.endsWith('.ts') ? 'ts' : 'js'}`, from)
    this.#threads = Array.from({ length: availableParallelism() }, () => {
      const worker = new Worker(file, { workerData: keys, env: {}, resourceLimits: LIMITS })
      const waiting: Waiting[] = []
      const fail = (error: Error): void => {
        for (const each of waiting.splice(0)) each.reject(error)
      }
      worker.on('message', (text: string) => waiting.shift()?.resolve(JSON.parse(text) as ExaminedLines))
      worker.on('error', (error) => fail(error instanceof Error ? error : new Error('a thread failed')))
      worker.on('exit', () => fail(new Error('a thread ended')))
      return { worker, waiting }
    })
  }

  get size(): number {
    return this.#threads.length
  }

  examine(bytes: Uint8Array<ArrayBuffer>): Promise<ExaminedLines> {
    const thread = this.#threads[this.#given % this.#threads.length]
    if (thread === undefined) return Promise.reject(new Error('there is no thread'))
    this.#given += 1
    return new Promise((resolve, reject) => {
      thread.waiting.push({ resolve, reject })
      thread.worker.postMessage(bytes, [bytes.buffer])
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()))
  }
}
