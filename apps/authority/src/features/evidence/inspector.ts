import { Coalesced } from '@chancery/service-kit'
import type { JsonObject, StoreReport } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { StoreThread } from '../../store/store-thread.ts'
import { inspectLinks, inspectPrefix, inspectStore, inspectView } from './inspection.ts'
import type { StoreIdentity } from './inspection.ts'
import type { InspectionCalls, InspectionData } from './inspection-worker.ts'
import { measureRun } from './store.ts'
import type { Run } from './store.ts'

/** Up to so many entries of so many bytes are inspected in milliseconds; more get a thread of their own. */
const INLINE_ENTRIES = 200
const INLINE_BYTES = 512 * 1024
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
  #thread: StoreThread | undefined
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
    if (await isSmall(office, { after: removed_through, through }))
      return inspectPrefix(office.store.db, identityOf(office), through)
    return this.#ask(office, 'prefix', through)
  }

  async view(office: Office, lines: readonly string[], resource: string | undefined): Promise<StoreReport> {
    const bytes = lines.reduce((sum, line) => sum + line.length, 0)
    if (lines.length <= INLINE_ENTRIES && bytes <= INLINE_BYTES)
      return inspectView(office.store.db, identityOf(office), lines, resource)
    return this.#ask(office, 'view', { lines, resource })
  }

  async links(office: Office, run: LinkRun): Promise<LinkResult> {
    if (await isSmall(office, run)) return inspectLinks(office.store.db, run)
    return this.#ask(office, 'links', run)
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
    if (await isSmall(office, { after: removed_through, through: last_sequence }))
      return inspectStore(office.store.db, identityOf(office))
    return this.#ask(office, 'store', undefined)
  }

  /** A thread that died is replaced; those who waited for it were refused. */
  #ask<Name extends keyof InspectionCalls>(
    office: Office,
    name: Name,
    argument: Parameters<InspectionCalls[Name]>[0],
  ): ReturnType<InspectionCalls[Name]> {
    if (this.#thread === undefined || this.#thread.hasEnded) {
      const data: InspectionData = { place: office.settings.storePlace, identity: identityOf(office) }
      this.#thread = new StoreThread('./inspection-worker', import.meta.url, data)
    }
    // The thread runs exactly this operation: both sides are compiled from InspectionCalls.
    return this.#thread.call(name, argument) as ReturnType<InspectionCalls[Name]>
  }
}

async function isSmall(office: Office, run: Run): Promise<boolean> {
  return run.through - run.after <= INLINE_ENTRIES && (await measureRun(office.store.db, run)) <= INLINE_BYTES
}

function identityOf(office: Office): StoreIdentity {
  return { publicKeys: office.ownKeys.all, sovereign: office.genesis.network_name }
}
