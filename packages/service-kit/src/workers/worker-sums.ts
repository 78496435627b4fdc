import type { Metrics } from '../metrics/registry.ts'
import { type MetricSnapshot, addGrowing } from '../metrics/snapshots.ts'
import type { SupervisedWorker } from './forked-worker.ts'

/** A scrape waits this long for a busy worker, then uses its last values. */
const ANSWER_MS = 2000

/**
 * Collects the metrics of all workers for the one that is scraped. The counters of a worker that ended stay in the sums,
 * as of the last scrape: a sum that falls would look like a restart of the service.
 */
export class WorkerSums {
  readonly #own: Metrics | undefined
  readonly #last = new Map<SupervisedWorker, MetricSnapshot>()
  #ended: MetricSnapshot = []

  constructor(own: Metrics | undefined) {
    this.#own = own
  }

  async ofOthers(scraped: SupervisedWorker, all: Iterable<SupervisedWorker>): Promise<readonly MetricSnapshot[]> {
    const asked = [...all].filter((worker) => worker.isServing)
    await Promise.all(asked.map((worker) => this.#ask(worker)))
    const others = asked.filter((worker) => worker !== scraped).map((worker) => this.#last.get(worker) ?? [])
    return [...others, this.#ended, (await this.#own?.snapshot()) ?? []]
  }

  /** Adds the counters of a worker that ended. */
  async add(worker: SupervisedWorker): Promise<void> {
    const last = this.#last.get(worker)
    this.#last.delete(worker)
    if (last !== undefined) this.#ended = await addGrowing([this.#ended, last])
  }

  async #ask(worker: SupervisedWorker): Promise<void> {
    try {
      this.#last.set(worker, await worker.channel.call<MetricSnapshot>('snapshot', undefined, ANSWER_MS))
    } catch {
      // It ended or is busy. Its last values are used.
    }
  }
}
