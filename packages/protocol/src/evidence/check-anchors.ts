import { type SignerKeys, signersOf } from '../artifacts/followed-keys.ts'
import { type StoreAnchor, anchorDigest, storeAnchorForm } from '../artifacts/freshness-proof.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { instantOf } from '../reading/text.ts'
import { asReceived, verifyReceived } from '../signing/received.ts'
import type { AnchorFailureReason, StoreFinding } from './report.ts'

/** Where a run of entries begins and ends, and whether its beginning is accounted for. */
export interface AnchoredRun {
  readonly first: number
  readonly last: number
  readonly linked: boolean
}

export type AnchorFinding = {
  readonly anchor_sequence: number
  readonly reason: AnchorFailureReason
  readonly detail: string
}

/**
 * Compares anchors with a run of entries (protocol/trust-operations 6.12). Stored old anchors detect a store
 * that was rewritten, even with a consistent chain.
 */
export class AnchorChecker {
  readonly #anchors: readonly StoreAnchor[]
  readonly #byPosition: ReadonlyMap<number, StoreAnchor>
  readonly #chain: AnchorFinding[]
  readonly #seen = new Map<number, boolean>()
  #run: AnchoredRun = { first: 1, last: 0, linked: true }

  private constructor(anchors: readonly StoreAnchor[], chain: AnchorFinding[]) {
    this.#anchors = anchors
    this.#byPosition = new Map(anchors.map((anchor) => [anchor.store_sequence, anchor]))
    this.#chain = chain
  }

  /** Checks anchors in their order, with their own chain. */
  static async open(anchors: readonly StoreAnchor[], keys: SignerKeys, sovereign: string): Promise<AnchorChecker> {
    const found: AnchorFinding[] = []
    for (const [index, anchor] of anchors.entries()) {
      const add = (reason: AnchorFailureReason, detail: string): void => {
        found.push({ anchor_sequence: anchor.anchor_sequence, reason, detail })
      }
      const verdict = await verifyReceived(asReceived(storeAnchorForm, anchor), signersOf(keys, anchor))
      if (!verdict.ok) add('anchor_invalid_signature', verdict.reason)
      if (anchor.sovereign_id !== sovereign) add('anchor_sovereign_mismatch', 'sovereign_id')
      checkLink(anchors[index - 1], anchor, add)
    }
    return new AnchorChecker(anchors, found)
  }

  /** What is wrong with the anchors themselves: signatures, network and chain. */
  get chainFindings(): readonly AnchorFinding[] {
    return this.#chain
  }

  /** An entry of the run and its recomputed digest. */
  see(store_sequence: number, digest: string): void {
    const anchor = this.#byPosition.get(store_sequence)
    if (anchor !== undefined) this.#seen.set(store_sequence, anchor.entry_digest === digest)
  }

  /** True when an anchor says that the entry at this place has this digest. */
  hasEntry(store_sequence: number, digest: string | null): boolean {
    return digest !== null && this.#byPosition.get(store_sequence)?.entry_digest === digest
  }

  check(run: AnchoredRun): StoreFinding[] {
    this.#run = run
    const places = new Map(this.#anchors.map((each) => [each.anchor_sequence, each.store_sequence]))
    const found: StoreFinding[] = this.#chain.map(({ reason, detail, anchor_sequence }) => ({
      store_sequence: places.get(anchor_sequence) ?? null,
      reason,
      detail: `anchor ${anchor_sequence}: ${detail}`,
    }))
    for (const { store_sequence, anchor_sequence } of this.#anchors) {
      const detail = `anchor ${anchor_sequence}`
      if (store_sequence > run.last) found.push({ store_sequence, reason: 'export_ends_before_anchor', detail })
      else if (store_sequence >= run.first && this.#seen.get(store_sequence) === undefined)
        found.push({ store_sequence, reason: 'anchor_entry_missing', detail })
      else if (this.#seen.get(store_sequence) === false)
        found.push({ store_sequence, reason: 'anchor_mismatch', detail })
    }
    if (!run.linked && this.#before(run) > 0)
      found.push({ store_sequence: run.first, reason: 'export_not_linked_to_anchors', detail: 'store_sequence' })
    return found
  }

  #before(run: AnchoredRun): number {
    return this.#anchors.filter((anchor) => anchor.store_sequence < run.first).length
  }

  /** The `anchors` member of the report; after {@link check}. */
  report(): JsonObject {
    const run = this.#run
    const matched = [...this.#seen].filter(([, isSame]) => isSame).map(([sequence]) => sequence)
    // Not spread into a call: a store may have more anchors than a call may have arguments.
    const through = matched.reduce<number | null>((most, each) => Math.max(most ?? each, each), null)
    return {
      anchors_checked: this.#anchors.length,
      anchors_matched: matched.length,
      anchors_before_export: this.#before(run),
      anchors_after_export: this.#anchors.filter((anchor) => anchor.store_sequence > run.last).length,
      linked_start: run.linked,
      anchored_through_sequence: through,
      unanchored_entries: run.last - Math.max(through ?? 0, run.first - 1),
      chain: {
        verified: this.#chain.length === 0,
        checked_anchors: this.#anchors.length,
        first_anchor_sequence: this.#anchors[0]?.anchor_sequence ?? null,
        last_anchor_sequence: this.#anchors.at(-1)?.anchor_sequence ?? null,
        anchored_through_sequence: this.#anchors.at(-1)?.store_sequence ?? null,
        failures: this.#chain,
      },
    }
  }
}

/**
 * Anchors in their order, each sequence once. `fork` is the first sequence with two contents: nothing proves which
 * one the store continues, so a caller must not choose.
 */
export function orderAnchors(given: readonly StoreAnchor[]): {
  readonly anchors: readonly StoreAnchor[]
  readonly fork: number | undefined
} {
  const found = new Map<number, StoreAnchor>()
  const forks: number[] = []
  for (const anchor of given) {
    const before = found.get(anchor.anchor_sequence)
    if (before === undefined) found.set(anchor.anchor_sequence, anchor)
    else if (anchorDigest(before) !== anchorDigest(anchor)) forks.push(anchor.anchor_sequence)
  }
  const anchors = [...found.values()].sort((a, b) => a.anchor_sequence - b.anchor_sequence)
  return { anchors, fork: forks.sort((a, b) => a - b)[0] }
}

function checkLink(
  previous: StoreAnchor | undefined,
  anchor: StoreAnchor,
  add: (reason: AnchorFailureReason, detail: string) => void,
): void {
  if (previous === undefined) {
    // Anchors stored elsewhere may begin later than the first; only a first one that names a predecessor is wrong.
    if (anchor.anchor_sequence === 1 && anchor.previous_anchor_digest !== undefined)
      add('anchor_chain_break', 'previous_anchor_digest')
    return
  }
  if (anchor.anchor_sequence !== previous.anchor_sequence + 1) add('anchor_sequence_gap', 'anchor_sequence')
  else if (anchor.previous_anchor_digest !== anchorDigest(previous)) add('anchor_chain_break', 'previous_anchor_digest')
  if (anchor.store_sequence <= previous.store_sequence) add('anchor_not_increasing', 'store_sequence')
  if (instantOf(anchor.anchored_at) < instantOf(previous.anchored_at)) add('anchor_not_increasing', 'anchored_at')
}
