import type { BoundaryPolicy } from '../artifacts/boundary-policy.ts'
import { BudgetRecomputation } from '../budgets/recompute.ts'
import { instantOf } from '../reading/text.ts'
import { signersOf } from '../artifacts/followed-keys.ts'
import { type RetentionCheckpoint, retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import { asReceived, signedText } from '../signing/received.ts'
import type { AnchorChecker } from './check-anchors.ts'
import { ApprovalChains } from './check-approval.ts'
import { checkDecisionChain, checkDecisionRules, checkResourceChain } from './check-execution.ts'
import type { CheckedExecution, RemovedPart, SignedPart, StoreKeys } from './checked-payload.ts'
import { type VerifiedLine, checkSignature, openLine } from './verify-line.ts'
import { DecisionChains, ResourceChains } from './chain-state.ts'
import type { ReadEvent } from './read-event.ts'
import { Findings, type StoreFailureReason, type StoreReport } from './report.ts'
import type { LineShortcuts } from './shortcuts.ts'

export interface StoreCheckOptions {
  readonly keys: StoreKeys
  /** store: every entry from the beginning or a checkpoint. view: some entries, linked only where they are neighbours. */
  readonly scope: 'store' | 'view'
  /** The latest retention checkpoint: the run begins behind it. */
  readonly boundary?: RetentionCheckpoint | undefined
  /** The requested resource: its chain is checked from its beginning, other chains from their first entry in the run. */
  readonly resource?: string
  readonly anchors?: AnchorChecker
  /** Published policies by digest, to compare the limits of budgets. */
  readonly policies?: ReadonlyMap<string, BoundaryPolicy>
  /** For runs of many lines. */
  readonly shortcuts?: LineShortcuts
}

/** A line as it was read, with the digest by which executions link. */
export interface CheckedLine extends ReadEvent {
  readonly recordDigest: string | null
}

type SubjectName = 'context_id' | 'vendor_id' | 'attestation_id' | 'capability'

/** Signatures under way at once: enough for every core, few enough to keep memory flat. */
const MAX_PENDING = 64

/**
 * Re-derives every digest, link, envelope and signature of a run of stored lines (protocol/trust-operations 6.9). It
 * reads lines only and uses no database column. One line after another, so a run may be of any length.
 */
export class StoreChecker {
  readonly #options: StoreCheckOptions
  readonly #failures = new Findings()
  readonly #warnings = new Findings()
  readonly #decisions = new DecisionChains()
  readonly #resources: ResourceChains
  readonly #approvals = new ApprovalChains()
  readonly #budgets: BudgetRecomputation
  readonly #pending = new Set<Promise<void>>()
  #count = 0
  #decisionCount = 0
  #executionCount = 0
  #rejectionCount = 0
  #first: VerifiedLine['entry'] | undefined
  #last: { readonly sequence: number; readonly digest: string | undefined } | undefined
  #linkedStart = false

  constructor(options: StoreCheckOptions) {
    this.#options = options
    this.#budgets = new BudgetRecomputation(options.policies === undefined ? {} : { policies: options.policies })
    this.#resources = new ResourceChains(options.boundary?.resource_heads)
    if (options.boundary !== undefined) {
      const received = asReceived(retentionCheckpointForm, options.boundary)
      const signed = { received, text: signedText(received), keys: signersOf(options.keys.authority, received.record) }
      this.#verify(-1, null, 'retention_checkpoint', signed)
    }
  }

  /** Failures so far; signatures still under way are not among them. */
  get failureCount(): number {
    return this.#failures.count
  }

  get checked(): number {
    return this.#count
  }

  /** The next line of the run, and what it was read as. Waits only while many signatures are under way. */
  async add(line: string): Promise<CheckedLine | undefined> {
    const at = this.#count
    const opened = openLine(line, this.#options.keys, this.#options.shortcuts)
    this.take(opened?.examined)
    if (opened === undefined) return undefined
    const { event, examined, signed } = opened
    const { store_sequence, entry_kind } = event.entry
    if (signed !== undefined) this.#verify(at, store_sequence, entry_kind, signed)
    if (this.#pending.size >= MAX_PENDING) await Promise.race(this.#pending)
    return { ...event, recordDigest: examined.execution?.digest ?? null }
  }

  /** The next line of the run, already examined by itself; undefined for one that is no evidence event. */
  take(line: VerifiedLine | undefined): void {
    const at = this.#count
    this.#count += 1
    if (line === undefined) {
      const sequence = (this.#last?.sequence ?? this.#options.boundary?.removed_through_sequence ?? 0) + 1
      this.#fail(at, sequence, 'entry_digest_mismatch', 'line')
      this.#last = { sequence, digest: undefined }
      return
    }
    const { store_sequence } = line.entry
    this.#checkPosition(at, line)
    for (const { reason, detail } of line.problems) this.#failures.add(at, { store_sequence, reason, detail })
    for (const detail of line.warnings) this.#warnings.add(at, { store_sequence, reason: 'unsigned_field', detail })
    this.#checkNeighbours(at, line)
    this.#checkBudget(at, line)
    this.#options.anchors?.see(store_sequence, line.digest)
    this.#last = { sequence: store_sequence, digest: line.digest }
  }

  /** Adds a finding of the source of the lines: about the last line, or about the missing next one. */
  blame(store_sequence: number, reason: StoreFailureReason, detail: string): void {
    this.#fail(this.#count, store_sequence, reason, detail)
  }

  async finish(): Promise<StoreReport> {
    await Promise.all(this.#pending)
    this.#checkStartKeys()
    this.#checkAnchors()
    return {
      checked_entries: this.#count,
      decisions: this.#decisionCount,
      executions: this.#executionCount,
      rejections: this.#rejectionCount,
      failures: this.#failures.inOrder(),
      warnings: this.#warnings.inOrder(),
    }
  }

  /** What the anchors say of this run; only after {@link finish}. */
  get linkedStart(): boolean {
    return this.#linkedStart
  }

  get lastSequence(): number {
    return this.#last?.sequence ?? this.#options.boundary?.removed_through_sequence ?? 0
  }

  /** The recomputed digest of the last line; undefined when it could not be read. */
  get lastDigest(): string | undefined {
    return this.#last?.digest
  }

  get firstSequence(): number | undefined {
    return this.#first?.store_sequence
  }

  #checkPosition(at: number, { entry }: VerifiedLine): void {
    const { store_sequence: sequence, prev_entry_digest: link } = entry
    if (this.#first === undefined) {
      this.#first = entry
      if (entry.store_sequence !== 1) this.#budgets.startAt(instantOf(entry.recorded_at))
      this.#linkedStart = this.#isLinked(entry, this.#options.boundary)
      return
    }
    const last = this.#last
    if (last === undefined) return
    const isNext = sequence === last.sequence + 1
    if (!isNext && this.#options.scope === 'store') this.#fail(at, sequence, 'store_sequence_gap', 'store_sequence')
    const isTested = isNext || this.#options.scope === 'store'
    if (isTested && last.digest !== undefined && link !== last.digest)
      this.#fail(at, sequence, 'store_chain_break', 'prev_entry_digest')
  }

  /** A run begins with entry 1, or right behind what a checkpoint says was removed. */
  #isLinked(first: VerifiedLine['entry'], checkpoint: RemovedPart | undefined): boolean {
    if (checkpoint === undefined) return first.store_sequence === 1 && first.prev_entry_digest === null
    const { removed_through_sequence, last_removed_entry_digest } = checkpoint
    return (
      first.store_sequence === removed_through_sequence + 1 && first.prev_entry_digest === last_removed_entry_digest
    )
  }

  #checkStartKeys(): void {
    const { scope, boundary, anchors } = this.#options
    const first = this.#first
    if (first === undefined || scope !== 'store') {
      this.#linkedStart = true
      return
    }
    this.#linkedStart ||= anchors?.hasEntry(first.store_sequence - 1, first.prev_entry_digest) === true
    if (this.#linkedStart) return
    const expected = (boundary?.removed_through_sequence ?? 0) + 1
    if (first.store_sequence === expected) this.#fail(0, expected, 'store_chain_break', 'prev_entry_digest')
    else this.#fail(0, first.store_sequence, 'store_sequence_gap', 'store_sequence')
  }

  #checkAnchors(): void {
    const { anchors } = this.#options
    if (anchors === undefined) return
    const through = this.#options.boundary?.removed_through_sequence ?? 0
    const run = {
      first: this.#first?.store_sequence ?? through + 1,
      last: this.lastSequence,
      linked: this.#linkedStart,
    }
    for (const finding of anchors.check(run)) this.#failures.add(this.#count, finding)
  }

  /** Counters are computed again over a whole run; a view lacks entries between its own. */
  #checkBudget(at: number, { entry, budget }: VerifiedLine): void {
    if (budget === undefined || this.#options.scope !== 'store') return
    for (const finding of this.#budgets.add(entry.store_sequence, budget)) {
      const { reason } = finding
      if (reason === 'budget_not_recomputable') this.#warnings.add(at, { ...finding, reason })
      else this.#failures.add(at, { ...finding, reason })
    }
  }

  /** What a line says about entries before it. */
  #checkNeighbours(at: number, line: VerifiedLine): void {
    const { entry, decision, explains, execution, checkpoint, approval } = line
    if (decision !== undefined) {
      this.#decisionCount += 1
      this.#decisions.add(decision)
    }
    if (line.isRejection === true) this.#rejectionCount += 1
    if (explains !== undefined)
      this.#compareSubject(at, entry, explains, ['context_id', 'vendor_id', 'attestation_id', 'capability'])
    if (execution !== undefined) {
      this.#compareSubject(at, entry, execution.decision_id, ['vendor_id', 'attestation_id'])
      this.#checkExecution(at, entry.store_sequence, execution)
    }
    if (approval !== undefined) {
      // Of an approval that ended before, retention may have removed the beginning.
      const isWhole = this.#options.scope === 'store' && this.#first?.store_sequence === 1
      const detail = this.#approvals.add(approval, isWhole)
      if (detail !== undefined) this.#fail(at, entry.store_sequence, 'approval_chain_break', detail)
    }
    // A later entry of the run names what was removed before it.
    if (checkpoint !== undefined && this.#first !== undefined)
      this.#linkedStart ||= this.#isLinked(this.#first, checkpoint)
  }

  /** An envelope names what the decision it belongs to named. */
  #compareSubject(at: number, entry: VerifiedLine['entry'], decision_id: string, names: readonly SubjectName[]): void {
    const decision = this.#decisions.find(decision_id)
    if (decision === undefined) return
    for (const name of names)
      if (entry[name] !== decision[name]) this.#fail(at, entry.store_sequence, 'envelope_mismatch', name)
  }

  #checkExecution(at: number, sequence: number, record: CheckedExecution): void {
    const { digest } = record
    this.#executionCount += 1
    const decision = this.#decisions.find(record.decision_id)
    const position = this.#decisions.position(record.decision_id)
    const found = [
      ...(decision === undefined ? [] : checkDecisionRules(record, decision)),
      ...checkDecisionChain(record, position, decision !== undefined),
    ]
    this.#decisions.advance(record.decision_id, record.sequence_no, digest)
    if (record.resource_id !== undefined) {
      const isWhole = this.#options.scope === 'store' || this.#options.resource === record.resource_id
      found.push(...checkResourceChain(record, this.#resources.position(record.resource_id), isWhole))
      this.#resources.advance(record.resource_id, record.resource_sequence ?? 0, digest)
    }
    for (const { reason, detail } of found) this.#fail(at, sequence, reason, detail)
  }

  /** Checked while later lines are read; the finding stays in the order of the entries. */
  #verify(at: number, store_sequence: number | null, detail: string, signed: SignedPart): void {
    const work = checkSignature(signed, detail).then((problem) => {
      if (problem !== undefined) this.#failures.add(at, { store_sequence, ...problem })
    })
    const checked = work.finally(() => this.#pending.delete(checked))
    this.#pending.add(checked)
  }

  #fail(at: number, store_sequence: number | null, reason: StoreFailureReason, detail: string): void {
    this.#failures.add(at, { store_sequence, reason, detail })
  }
}
