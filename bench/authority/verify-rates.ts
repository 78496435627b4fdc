import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { measureSignatures } from '../lib/theoretical-limit.ts'

interface Task {
  readonly messageBytes: number
  readonly milliseconds: number
}

/** Bare Ed25519 verifications per second, one thread on every core: the rate of all cores together. */
export async function verifyOnAllCores(messageBytes: number, milliseconds: number): Promise<number> {
  const task: Task = { messageBytes, milliseconds }
  const rates = await Promise.all(
    Array.from(
      { length: availableParallelism() },
      () =>
        new Promise<number>((resolve, reject) => {
          const worker = new Worker(new URL(import.meta.url), { workerData: task })
          worker.once('message', resolve)
          worker.once('error', reject)
        }),
    ),
  )
  return rates.reduce((sum, rate) => sum + rate, 0)
}

if (!isMainThread && workerData !== null) {
  const { messageBytes, milliseconds } = workerData as Task
  parentPort?.postMessage((await measureSignatures(messageBytes, milliseconds)).verify)
}
