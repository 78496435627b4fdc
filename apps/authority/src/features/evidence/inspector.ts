import { Worker } from 'node:worker_threads'
import { Coalesced } from '@chancery/service-kit'
import type { JsonObject, StoreReport } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { StoreUnavailable } from '../../store/database.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { inspectLinks, inspectPrefix, inspectStore, inspectView } from './inspection.ts'
import type { StoreIdentity } from './inspection.ts'
import type { InspectionReply, InspectionRequest } from './inspection-messages.ts'

/** Up to so many entries are inspected in milliseconds; more get a thread of their own. */
const INLINE_ENTRIES = 200
/** A report that took so long is given again for a while: nobody could wait for the next one. */
const LONG_MS = 10_000
const KEPT_MS = 300_000

type LinkRun = Parameters<typeof inspectLinks>[1]
type LinkResult = Awaited<ReturnType<typeof inspectLinks>>

/**
 * Runs inspections where they harm nobody: small ones here, large ones beside the event loop on a connection of their
 * own. Reports are shared by all who ask at once; one that outlasts its caller goes on, and the next caller finds it.
 */
export class Inspector {
  #thread: InspectionThread | undefined
  #report: Coalesced<JsonObject> | undefined
  #running: { readonly since: number; readonly result: Promise<JsonObject> } | undefined
  #long: { readonly until: number; readonly report: JsonObject } | undefined

  async report(office: Office): Promise<JsonObject> {
    const now = office.clock.monotonicMs()
    if (this.#long !== undefined && now < this.#long.until) return this.#long.report
    if (this.#running !== undefined && now - this.#running.since > LONG_MS) return this.#running.result
    this.#report ??= new Coalesced(() => this.#inspectStore(office))
    return this.#report.read()
  }

  async prefix(office: Office, through: number): Promise<StoreReport> {
    const { removed_through } = await readEvidenceHead(office.store.db)
    if (through - removed_through <= INLINE_ENTRIES) return inspectPrefix(office.store.db, identityOf(office), through)
    return this.#ask(office, { kind: 'prefix', through }) as Promise<StoreReport>
  }

  async view(office: Office, lines: readonly string[], resource: string | undefined): Promise<StoreReport> {
    if (lines.length <= INLINE_ENTRIES) return inspectView(office.store.db, identityOf(office), lines, resource)
    return this.#ask(office, { kind: 'view', lines, resource }) as Promise<StoreReport>
  }

  async links(office: Office, run: LinkRun): Promise<LinkResult> {
    if (run.through - run.after <= INLINE_ENTRIES) return inspectLinks(office.store.db, run)
    return this.#ask(office, { kind: 'links', run }) as Promise<LinkResult>
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  async #inspectStore(office: Office): Promise<JsonObject> {
    const since = office.clock.monotonicMs()
    const result = this.#runStore(office)
    this.#running = { since, result }
    try {
      const report = await result
      const end = office.clock.monotonicMs()
      this.#long = end - since > LONG_MS ? { until: end + KEPT_MS, report } : undefined
      return report
    } finally {
      this.#running = undefined
    }
  }

  async #runStore(office: Office): Promise<JsonObject> {
    const { last_sequence, removed_through } = await readEvidenceHead(office.store.db)
    if (last_sequence - removed_through <= INLINE_ENTRIES) return inspectStore(office.store.db, identityOf(office))
    return this.#ask(office, { kind: 'store' }) as Promise<JsonObject>
  }

  /** A thread that died is replaced; those who waited for it were refused. */
  #ask(office: Office, request: InspectionRequest): Promise<unknown> {
    if (this.#thread === undefined || this.#thread.isDead) this.#thread = new InspectionThread(office)
    return this.#thread.ask(request)
  }
}

function identityOf(office: Office): StoreIdentity {
  return { publicKey: office.signer.publicKey, sovereign: office.genesis.network_name }
}

class InspectionThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #count = 0
  #dead = false

  get isDead(): boolean {
    return this.#dead
  }

  constructor(office: Office) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./inspection-worker.${extension}`, import.meta.url), {
      workerData: { place: office.settings.storePlace, identity: identityOf(office) },
      // The environment may hold the signing seed.
      env: {},
    })
    this.#worker.unref()
    this.#worker.on('message', (reply: InspectionReply) => {
      const waiting = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      if (reply.kind === 'done') waiting?.resolve(reply.value)
      else waiting?.reject(reply.isStore ? new StoreUnavailable(reply.message) : new Error(reply.message))
    })
    const fail = (error: Error): void => {
      this.#dead = true
      for (const waiting of this.#waiting.values()) waiting.reject(error)
      this.#waiting.clear()
    }
    this.#worker.on('error', fail)
    this.#worker.on('exit', () => fail(new StoreUnavailable('the inspection thread ended')))
  }

  ask(request: InspectionRequest): Promise<unknown> {
    if (this.#dead) return Promise.reject(new StoreUnavailable('the inspection thread ended'))
    this.#count += 1
    const id = this.#count
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ id, ...request })
    })
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
