import type { Instant } from '@chancery/protocol'
import type { SupervisedWorker } from '@chancery/service-kit'
import type { RecordedFiles } from '../policy/files.ts'
import { filePolicyOf } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'
import type { Followers } from '../trust/trust-state.ts'
import type { TrustMessage } from './messages.ts'
import { toIssuerMessages } from './trust-messages.ts'

/** A worker that takes longer for a step is ended, so that it delays no revocation. */
const STEP_MS = 10_000

/** The files of a policy, as they were read. */
export interface PolicyFiles {
  readonly files: RecordedFiles
  readonly loadedAt: Instant
}

/** Brings the snapshots of the supervisor to its workers. */
export class WorkerFollowers implements Followers {
  readonly #workers = new Set<SupervisedWorker>()
  readonly #filesOf: (snapshot: TrustSnapshot) => PolicyFiles
  readonly #stepMs: number

  constructor(filesOf: (snapshot: TrustSnapshot) => PolicyFiles, stepMs: number = STEP_MS) {
    this.#filesOf = filesOf
    this.#stepMs = stepMs
  }

  /** Adds a worker that begins with this snapshot. Called between two changes. */
  add(worker: SupervisedWorker, current: TrustSnapshot): TrustMessage {
    this.#workers.add(worker)
    return this.#toMessage(current)
  }

  remove(worker: SupervisedWorker): void {
    this.#workers.delete(worker)
  }

  async change(before: TrustSnapshot, next: TrustSnapshot): Promise<void> {
    const message = this.#toMessage(next, before)
    await this.#all('loadTrust', message)
    await this.#all('holdRequests', undefined)
    await this.#all('useTrust', next.data.version)
  }

  /** Each worker does the step, or has ended. */
  async #all(step: string, argument: unknown): Promise<void> {
    await Promise.all(
      [...this.#workers].map(async (worker) => {
        try {
          await worker.channel.call(step, argument, this.#stepMs)
        } catch {
          this.remove(worker)
          worker.kill()
          await worker.ended
        }
      }),
    )
  }

  #toMessage(next: TrustSnapshot, before?: TrustSnapshot): TrustMessage {
    const { files, loadedAt } = this.#filesOf(next)
    const isSameFile = before !== undefined && filePolicyOf(before.policy) === filePolicyOf(next.policy)
    return {
      version: next.data.version,
      files: isSameFile ? undefined : files,
      loadedAt,
      followed: before?.policy === next.policy ? undefined : (next.policy.followed?.keys ?? new Map()),
      issuers: toIssuerMessages(next, before),
    }
  }
}
