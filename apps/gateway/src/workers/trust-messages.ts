import { type FollowedKeys, type IssuerPolicy, type Policy, filePolicyOf, issuersOf } from '../policy/policy.ts'
import type { SharedIndex } from '../trust/revocation-index.ts'
import { type IssuerState, type TrustSnapshot, type UnreadList, issuerKey } from '../trust/snapshot.ts'
import type { Instant, ListPosition } from '@chancery/protocol'
import type { SettingSources, SupervisedWorker } from '@chancery/service-kit'
import type { RecordedFiles } from '../policy/tls-files.ts'
import type { StateUsage } from '../state/verify-state.ts'
import type { RefreshData } from '../trust/unread-list.ts'
import type { Followers } from '../trust/trust-state.ts'

/** The first message to a worker: everything it answers by. */
export interface GatewayBegin {
  readonly sources: Omit<SettingSources, 'env'>
  /** Undefined in development mode. */
  readonly trust: TrustMessage | undefined
  readonly refreshes: RefreshData
  readonly lease: Lease
  /** The Redis of quotas and spent proofs, as at the start: a reload does not replace it. */
  readonly redis: { readonly redisUrl: string | undefined; readonly extraRoots: readonly string[] } | undefined
}

/** A snapshot, or what differs from the one before. */
export interface TrustMessage {
  readonly version: number
  /** Set at the start and at a reload. */
  readonly files: RecordedFiles | undefined
  readonly loadedAt: Instant
  /** By network. Undefined: the same as before. */
  readonly followed: ReadonlyMap<string, FollowedKeys> | undefined
  /** All issuers, in order. */
  readonly issuers: readonly IssuerMessage[]
}

interface IssuerMessage {
  readonly key: string
  readonly floor: number
  readonly isSuspect: boolean
  readonly unread: UnreadList | undefined
  /** Undefined: the worker has this list. */
  readonly list: ListMessage | undefined
}

interface ListMessage {
  readonly position: ListPosition
  readonly body: Uint8Array
  readonly index: SharedIndex
}

/** Sent several times a second. Without a recent one a worker gives no answers. */
export interface Lease {
  /** By the monotonic clock of the machine, which all processes share. */
  readonly sentNs: bigint
  /** Undefined without GATEWAY_STATE_FILE. */
  readonly state: { readonly isHealthy: boolean; readonly usage: StateUsage } | undefined
}

export const LEASE_EVERY_MS = 250
/** How long a worker may answer without a message of its supervisor. */
export const LEASE_MS = 2000

/** Lists that the worker has are left out: they may have megabytes. */
function toIssuerMessages(next: TrustSnapshot, before?: TrustSnapshot): readonly IssuerMessage[] {
  return [...next.issuers].map(([key, { floor, isSuspect, unread, position, body, index }]) => {
    const list = before?.issuers.get(key)?.index === index ? undefined : { position, body: copy(body), index }
    return {
      key,
      floor,
      isSuspect,
      unread,
      list: list === undefined ? undefined : { ...list, index: copyIndex(index) },
    }
  })
}

/** Builds the issuers of a snapshot. Throws when the message does not fit the policy or what this worker has. */
export function readIssuerMessages(
  messages: readonly IssuerMessage[],
  policy: Policy,
  before: TrustSnapshot | undefined,
): ReadonlyMap<string, IssuerState> {
  const policies = new Map(issuersOf(policy).map((each) => [issuerKey(each.network, each.issuer), each]))
  return new Map(
    messages.map((message) => [message.key, readIssuer(message, policies.get(message.key), before?.issuers)]),
  )
}

function readIssuer(
  { key, floor, isSuspect, unread, list }: IssuerMessage,
  policy: IssuerPolicy | undefined,
  before: ReadonlyMap<string, IssuerState> | undefined,
): IssuerState {
  const known = list === undefined ? before?.get(key) : shareList(list)
  if (policy === undefined || known === undefined) throw new Error('the worker lacks a list of the supervisor')
  const { position, body, index } = known
  return { policy, position, body, index, floor, isSuspect, unread }
}

/** In shared memory again, for the threads of this worker. */
function shareList({ position, body, index }: ListMessage): ListMessage {
  return {
    position,
    body: share(body, Uint8Array),
    index: {
      ...index,
      slots: share(index.slots, Uint32Array),
      entries: share(index.entries, Uint32Array),
      bytes: share(index.bytes, Uint8Array),
    },
  }
}

/** Shared memory cannot be sent to another process. */
function copyIndex(index: SharedIndex): SharedIndex {
  return { ...index, slots: copy(index.slots), entries: copy(index.entries), bytes: copy(index.bytes) }
}

type Numbers = Uint8Array | Uint32Array

function copy<Values extends Numbers>(values: Values): Values {
  return values.slice() as Values
}

function share<Values extends Numbers>(values: Values, kind: new (buffer: SharedArrayBuffer) => Values): Values {
  const shared = new kind(new SharedArrayBuffer(values.byteLength))
  shared.set(values)
  return shared
}

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
