import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cleanup } from './cleanup.ts'
import type { LoadReport, LoadTask, WorkerMessage } from './load-task.ts'
import { requireLoopback } from './loopback.ts'

/** The load generator: a separate process, so that it never shares an event loop with what it measures. */
export class LoadGenerator {
  readonly #worker: ChildProcess
  #busy = false

  constructor() {
    this.#worker = fork(fileURLToPath(new URL('load-worker.ts', import.meta.url)), {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  }

  /** A generator that ends with the benchmark. */
  static open(cleanup: Cleanup): LoadGenerator {
    const generator = new LoadGenerator()
    cleanup.add(() => generator.close())
    return generator
  }

  get pid(): number {
    return this.#worker.pid ?? 0
  }

  /** Runs one slice. Rejects when any response is not 200, because such a slice cannot be compared. */
  async run(task: LoadTask): Promise<LoadReport> {
    requireLoopback(task.host)
    if (this.#busy) throw new Error('one slice at a time')
    this.#busy = true
    try {
      const message = await this.#ask(task)
      if ('problem' in message) throw new Error(`load generator: ${message.problem}`)
      return message.report
    } finally {
      this.#busy = false
    }
  }

  close(): void {
    this.#worker.disconnect()
  }

  #ask(task: LoadTask): Promise<WorkerMessage> {
    return new Promise((resolve, reject) => {
      const onExit = (): void => reject(new Error('the load generator ended'))
      this.#worker.once('exit', onExit)
      this.#worker.once('message', (message) => {
        this.#worker.off('exit', onExit)
        resolve(message as WorkerMessage)
      })
      this.#worker.send(task)
    })
  }
}
