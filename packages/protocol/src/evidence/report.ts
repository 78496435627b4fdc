import type { BudgetFailureReason } from '../budgets/recompute.ts'
import type { JsonObject } from '../canonical/utf8.ts'

export type StoreFailureReason =
  | 'entry_digest_mismatch'
  | 'payload_digest_mismatch'
  | 'store_sequence_gap'
  | 'store_chain_break'
  | 'unknown_entry_kind'
  | 'payload_invalid'
  | 'unknown_field'
  | 'invalid_signature'
  | 'envelope_mismatch'
  | 'evidence_decision_denied'
  | 'evidence_outside_decision_window'
  | 'evidence_capability_mismatch'
  | 'evidence_chain_break'
  | 'resource_chain_break'
  | 'approval_chain_break'
  | AnchorFailureReason
  | BudgetFailureReason

export type AnchorFailureReason =
  | 'anchor_invalid_signature'
  | 'anchor_sovereign_mismatch'
  | 'anchor_sequence_gap'
  | 'anchor_chain_break'
  | 'anchor_not_increasing'
  | 'anchor_mismatch'
  | 'anchor_entry_missing'
  | 'export_not_linked_to_anchors'
  | 'export_ends_before_anchor'

/** One broken rule and where. `store_sequence` is null for what has no place in the store. */
export type StoreFinding = {
  readonly store_sequence: number | null
  readonly reason: StoreFailureReason | 'unsigned_field' | 'budget_not_recomputable'
  readonly detail: string
}

/** What was found out about a run of entries (protocol/trust-operations 6.9). */
export interface StoreReport {
  readonly checked_entries: number
  readonly decisions: number
  readonly executions: number
  readonly rejections: number
  readonly failures: readonly StoreFinding[]
  readonly warnings: readonly StoreFinding[]
}

/** A completely damaged store must not fill the memory of the checker. */
const MAX_FINDINGS = 10_000

/** Findings in the order of the entries they are about, although signatures are checked later than digests. */
export class Findings {
  #found: { readonly at: number; readonly finding: StoreFinding }[] = []
  #omitted = 0

  /** `at` is the place of the entry in the run, which is known even where its sequence is not. */
  add(at: number, finding: StoreFinding): void {
    if (this.#found.length >= MAX_FINDINGS) this.#omitted += 1
    else this.#found.push({ at, finding })
  }

  get count(): number {
    return this.#found.length + this.#omitted
  }

  get omitted(): number {
    return this.#omitted
  }

  inOrder(): readonly StoreFinding[] {
    return this.#found.toSorted((a, b) => a.at - b.at).map(({ finding }) => finding)
  }
}

/** The report as the routes give it: warnings only where there are any. */
export function reportJson(report: StoreReport, more: JsonObject = {}): JsonObject {
  const { failures, warnings, ...counts } = report
  return {
    verified: failures.length === 0,
    ...counts,
    failures,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...more,
  }
}
