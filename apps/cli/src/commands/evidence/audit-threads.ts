import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { AuditKeys } from './audit-keys.ts'
import type { ExaminedLines } from './audit-thread.ts'

/** Small heaps, because a thread stores only one block of lines at a time. */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 512 }

interface Waiting {
  resolve(examined: ExaminedLines): void
  reject(error: Error): void
}

interface Thread {
  readonly worker: Worker
  readonly waiting: Waiting[]
}

/**
 * Up to one thread for each core. Blocks are assigned in turn, and results keep their order. A thread starts with its
 * first block, because most exports have one block only.
 */
export class AuditThreads {
  readonly size: number = availableParallelism()
  readonly #keys: AuditKeys
  readonly #threads: Thread[] = []
  #given = 0

  constructor(keys: AuditKeys) {
    this.#keys = keys
  }

  examine(bytes: Uint8Array<ArrayBuffer>): Promise<ExaminedLines> {
    const { worker, waiting } = (this.#threads[this.#given % this.size] ??= startThread(this.#keys))
    this.#given += 1
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      worker.postMessage(bytes, [bytes.buffer])
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()))
  }
}

function startThread(keys: AuditKeys): Thread {
  const from = import.meta.url
  const file = new URL(`audit-thread.${from.endsWith('.ts') ? 'ts' : 'js'}`, from)
  const worker = new Worker(file, { workerData: keys, env: {}, resourceLimits: LIMITS })
  const waiting: Waiting[] = []
  const fail = (error: Error): void => {
    for (const each of waiting.splice(0)) each.reject(error)
  }
  worker.on('message', (text: string) => waiting.shift()?.resolve(JSON.parse(text) as ExaminedLines))
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error('a thread failed')))
  worker.on('exit', () => fail(new Error('a thread ended')))
  return { worker, waiting }
}
