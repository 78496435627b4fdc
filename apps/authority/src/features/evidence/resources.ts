import { Refusal } from '@chancery/contract'
import { type CodedPages, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { findRemovedHead } from './queries/lookups.ts'
import { type History, readResourceHistory, readVendorHistory } from './queries/search.ts'
import { type ChainedEntry, type JsonObject, reportJson, writeJson } from '@chancery/protocol'
import type { DailyBytes } from './daily-bytes.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import type { EntryRoom } from '../../database/partitions/evidence-partitions.ts'
import type { EvidenceParts, ExecutorKeyCache, StoreVerifier } from './store-verifier.ts'
import type { RejectionBook } from './rejections.ts'
import type { SignatureChecks } from './signature-checks.ts'

/** Follows the chain. The transparency log is one; evidence does not know it. */
export interface AppendListener {
  /** Called after each commit, with the entries in the order of the chain. */
  onAppended(entries: readonly ChainedEntry[]): void
  /** Called before entries are removed. */
  beforeRemoval(): Promise<void>
}

export class AppendListeners {
  readonly #listeners: AppendListener[] = []

  add(listener: AppendListener): void {
    this.#listeners.push(listener)
  }

  /** Called after COMMIT, with what was appended. */
  publishAppended(entries: readonly ChainedEntry[]): void {
    for (const listener of this.#listeners) listener.onAppended(entries)
  }

  /** Waits until every listener has all entries: those that are removed now cannot be read later. */
  async prepareRemoval(): Promise<void> {
    for (const listener of this.#listeners) await listener.beforeRemoval()
  }
}

/** The parts of the feature and its own state. */
export interface EvidenceState extends EvidenceParts {
  readonly storeVerifier: StoreVerifier
  readonly executorKeys: ExecutorKeyCache
  readonly rejections: RejectionBook
  readonly signatureChecks: SignatureChecks
  readonly listeners: AppendListeners
  readonly exportPages: CodedPages
  readonly room: EntryRoom
  readonly dailyBytes: DailyBytes
  /** About how many entries the store has, as the last batch found it; for plans of queries. */
  readonly storeSize: { entries: number }
  /** The versions that the last transaction with an allowed decision found. An old one costs a second decision, no more. */
  readonly lastBasis: { version: BasisVersion | undefined }
}

/** Stored lines with their verification, under the requested name. */
async function historyResponse(
  parts: EvidenceState,
  named: JsonObject,
  { truncated, lines }: History,
  resource?: string,
): Promise<HttpResponse> {
  const report = await parts.storeVerifier.view(parts, lines, resource)
  const begin = writeJson({ ...named, truncated }).slice(0, -1)
  return jsonText(`${begin},"entries":[${lines.join(',')}],"verification":${writeJson(reportJson(report))}}`)
}

/**
 * GET /admin/evidence/resources/{resource_id}
 * Returns the lines of one resource from decision to execution, and the verification of these lines. When retention
 * removed all of them, the head is what the latest checkpoint says.
 */
export async function resources(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const resource_id = call.params['resource_id'] ?? ''
  const { removed_through } = await readEvidenceHead(parts.database.read)
  const history = await readResourceHistory(parts.database.read, resource_id, removed_through)
  if (history.lines.length > 0) return historyResponse(parts, { resource_id }, history, resource_id)
  const head = await findRemovedHead(parts.database.read, resource_id)
  if (head === undefined) throw new Refusal('resource_not_found')
  return historyResponse(parts, { resource_id, head: { ...head } }, history, resource_id)
}

/**
 * GET /admin/evidence/vendors/{vendor_id}
 * Returns the decisions about a vendor and their executions, and the verification of these lines.
 */
export async function vendors(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const vendor_id = call.params['vendor_id'] ?? ''
  const { removed_through } = await readEvidenceHead(parts.database.read)
  const history = await readVendorHistory(parts.database.read, vendor_id, removed_through)
  if (history.lines.length === 0) throw new Refusal('vendor_not_found')
  return historyResponse(parts, { vendor_id }, history)
}
