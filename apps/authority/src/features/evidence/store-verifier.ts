import { SharedRead } from '@chancery/service-kit'
import type { JsonObject, StoreReport } from '@chancery/protocol'
import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { DatabaseThread } from '../../database/worker/thread.ts'
import { type StoreIdentity, inspectLinks, inspectPrefix, inspectStore, inspectView } from './verify-store.ts'
import type { InspectionCalls, InspectionData } from './store-verifier-thread.ts'
import { type Run, measureRun } from './queries/entries.ts'

/**
 * Up to this number of entries and bytes, verification takes milliseconds. A larger store is verified in a separate
 * thread.
 */
const INLINE_ENTRIES = 200
const INLINE_BYTES = 512 * 1024
/** A report that took this long is returned again for some time, because callers cannot wait for the next one. */
const LONG_MS = 10_000
const CACHED_MS = 300_000

type LinkRun = Parameters<typeof inspectLinks>[1]
type LinkResult = Awaited<ReturnType<typeof inspectLinks>>

/**
 * Verifies small stores on the event loop, and large ones in a separate thread with its own connection. Concurrent
 * callers share a report. A verification continues after its caller has left, and the next caller gets the result.
 */
export class StoreVerifier {
  #thread: DatabaseThread | undefined
  #report: SharedRead<JsonObject> | undefined
  #running: { readonly since: number; readonly result: Promise<JsonObject> } | undefined
  #long: { readonly until: number; readonly report: JsonObject } | undefined

  async report(parts: EvidenceParts): Promise<JsonObject> {
    const now = parts.clock.monotonicMs()
    if (this.#long !== undefined && now < this.#long.until) return this.#long.report
    if (this.#running !== undefined && now - this.#running.since > LONG_MS) return this.#running.result
    this.#report ??= new SharedRead(() => this.#inspectStore(parts))
    return this.#report.read()
  }

  async prefix(parts: EvidenceParts, through: number): Promise<StoreReport> {
    const { removed_through } = await readEvidenceHead(parts.database.read)
    if (await isSmall(parts, { after: removed_through, through }))
      return inspectPrefix(parts.database.read, identityOf(parts), through)
    return this.#ask(parts, 'prefix', through)
  }

  async view(parts: EvidenceParts, lines: readonly string[], resource: string | undefined): Promise<StoreReport> {
    const bytes = lines.reduce((sum, line) => sum + line.length, 0)
    if (lines.length <= INLINE_ENTRIES && bytes <= INLINE_BYTES)
      return inspectView(parts.database.read, identityOf(parts), lines, resource)
    return this.#ask(parts, 'view', { lines, resource })
  }

  async links(parts: EvidenceParts, run: LinkRun): Promise<LinkResult> {
    if (await isSmall(parts, run)) return inspectLinks(parts.database.read, run)
    return this.#ask(parts, 'links', run)
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  async #inspectStore(parts: EvidenceParts): Promise<JsonObject> {
    const since = parts.clock.monotonicMs()
    const result = this.#runStore(parts)
    this.#running = { since, result }
    try {
      const report = await result
      const end = parts.clock.monotonicMs()
      this.#long = end - since > LONG_MS ? { until: end + CACHED_MS, report } : undefined
      return report
    } finally {
      this.#running = undefined
    }
  }

  async #runStore(parts: EvidenceParts): Promise<JsonObject> {
    const { last_sequence, removed_through } = await readEvidenceHead(parts.database.read)
    if (await isSmall(parts, { after: removed_through, through: last_sequence }))
      return inspectStore(parts.database.read, identityOf(parts))
    return this.#ask(parts, 'store', undefined)
  }

  /** A dead thread is replaced. Its queued requests were refused. */
  #ask<Name extends keyof InspectionCalls>(
    parts: EvidenceParts,
    name: Name,
    argument: Parameters<InspectionCalls[Name]>[0],
  ): ReturnType<InspectionCalls[Name]> {
    if (this.#thread === undefined || this.#thread.hasEnded) {
      const data: InspectionData = { place: parts.settings.databaseLocation, identity: identityOf(parts) }
      this.#thread = new DatabaseThread('./store-verifier-thread', import.meta.url, data)
    }
    // The thread runs exactly this operation: both sides are compiled from InspectionCalls.
    return this.#thread.call(name, argument) as ReturnType<InspectionCalls[Name]>
  }
}

async function isSmall(parts: EvidenceParts, run: Run): Promise<boolean> {
  return run.through - run.after <= INLINE_ENTRIES && (await measureRun(parts.database.read, run)) <= INLINE_BYTES
}

function identityOf(parts: EvidenceParts): StoreIdentity {
  return { publicKeys: parts.keys.all, sovereign: parts.network.name }
}
