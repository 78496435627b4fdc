import type { RetentionCheckpoint } from '../artifacts/retention-checkpoint.ts'
import { retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import type { EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { asReceived, checkReceivedForm, receivedBytes, signaturesOf } from '../signing/received.ts'
import type { Received } from '../signing/received.ts'
import { verifySignature } from '../signing/verify.ts'
import type { AnchorChecker } from './check-anchors.ts'
import { checkDecisionChain, checkDecisionRules, checkResourceChain } from './check-execution.ts'
import { judgePayload } from './check-payload.ts'
import type { JudgedPayload, StoreKeys } from './check-payload.ts'
import { DecisionLedger, ResourceLedger } from './ledgers.ts'
import { readEventLine } from './read-event.ts'
import type { ReadEvent } from './read-event.ts'
import { Findings } from './report.ts'
import type { StoreFailureReason, StoreReport } from './report.ts'

export interface StoreCheckOptions {
  readonly keys: StoreKeys
  /** store: every entry from the beginning or a checkpoint. view: some entries, linked only where they are neighbours. */
  readonly scope: 'store' | 'view'
  /** The latest retention checkpoint: the run begins behind it. */
  readonly boundary?: RetentionCheckpoint | undefined
  /** The resource a view was asked for: its chain is judged from its beginning, those of others from where they show. */
  readonly resource?: string
  readonly anchors?: AnchorChecker
}

/** A line as it was read, with the digest by which executions link. */
export interface CheckedLine extends ReadEvent {
  readonly recordDigest: string | null
}

/** Signatures under way at once: enough for every core, few enough to keep memory flat. */
const MAX_PENDING = 64

/**
 * Re-derives every digest, link, envelope and signature of a run of stored lines (protocol/trust-operations 6.9). It
 * takes lines only: no column of any database is believed. One line after another, so a run may be of any length.
 */
export class StoreChecker {
  readonly #options: StoreCheckOptions
  readonly #failures = new Findings()
  readonly #warnings = new Findings()
  readonly #decisions = new DecisionLedger()
  readonly #resources: ResourceLedger
  readonly #pending = new Set<Promise<void>>()
  #count = 0
  #decisionCount = 0
  #executionCount = 0
  #first: EvidenceStoreEntry | undefined
  #last: { readonly sequence: number; readonly digest: string | undefined } | undefined
  #linkedStart = false

  constructor(options: StoreCheckOptions) {
    this.#options = options
    this.#resources = new ResourceLedger(options.boundary?.resource_heads)
    if (options.boundary !== undefined) {
      const received = asReceived(retentionCheckpointForm, options.boundary)
      this.#verify(-1, null, 'retention_checkpoint', received, options.keys.authority)
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
    this.#count += 1
    const event = readEventLine(line)
    let execution: JudgedPayload['execution']
    if (event === undefined) {
      const sequence = (this.#last?.sequence ?? this.#options.boundary?.removed_through_sequence ?? 0) + 1
      this.#fail(at, sequence, 'entry_digest_mismatch', 'line')
      this.#last = { sequence, digest: undefined }
    } else {
      this.#checkDigests(at, event)
      this.#checkPlace(at, event)
      execution = this.#checkPayload(at, event)
      this.#options.anchors?.see(event.entry.store_sequence, event.entryDigest)
      this.#last = { sequence: event.entry.store_sequence, digest: event.entryDigest }
    }
    if (this.#pending.size >= MAX_PENDING) await Promise.race(this.#pending)
    return event === undefined ? undefined : { ...event, recordDigest: execution?.digest ?? null }
  }

  /** A finding of whoever brought the lines: about the last one added, or about what should have come after it. */
  blame(store_sequence: number, reason: StoreFailureReason, detail: string): void {
    this.#fail(this.#count, store_sequence, reason, detail)
  }

  async finish(): Promise<StoreReport> {
    await Promise.all(this.#pending)
    this.#checkStart()
    this.#checkAnchors()
    return {
      checked_entries: this.#count,
      decisions: this.#decisionCount,
      executions: this.#executionCount,
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

  /** The digest of the last line as computed anew; undefined when it could not be read. */
  get lastDigest(): string | undefined {
    return this.#last?.digest
  }

  get firstSequence(): number | undefined {
    return this.#first?.store_sequence
  }

  #checkDigests(at: number, event: ReadEvent): void {
    const { entry, canonical, claimedDigest, entryDigest, payloadDigest } = event
    const sequence = entry.store_sequence
    if (claimedDigest !== entryDigest) this.#fail(at, sequence, 'entry_digest_mismatch', 'entry_digest')
    else if (!canonical) this.#fail(at, sequence, 'entry_digest_mismatch', 'line')
    if (payloadDigest !== entry.payload_digest) this.#fail(at, sequence, 'payload_digest_mismatch', 'payload_digest')
  }

  #checkPlace(at: number, { entry }: ReadEvent): void {
    const { store_sequence: sequence, prev_entry_digest: link } = entry
    if (this.#first === undefined) {
      this.#first = entry
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
  #isLinked(first: EvidenceStoreEntry, checkpoint: RetentionCheckpoint | undefined): boolean {
    if (checkpoint === undefined) return first.store_sequence === 1 && first.prev_entry_digest === null
    const { removed_through_sequence, last_removed_entry_digest } = checkpoint
    return (
      first.store_sequence === removed_through_sequence + 1 && first.prev_entry_digest === last_removed_entry_digest
    )
  }

  #checkStart(): void {
    const { scope, boundary, anchors } = this.#options
    const first = this.#first
    if (first === undefined || scope !== 'store') {
      this.#linkedStart = true
      return
    }
    this.#linkedStart ||= anchors?.holds(first.store_sequence - 1, first.prev_entry_digest) === true
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
    for (const finding of anchors.judge(run)) this.#failures.add(this.#count, finding)
  }

  #checkPayload(at: number, { entry, payload }: ReadEvent): JudgedPayload['execution'] {
    const sequence = entry.store_sequence
    const judged = judgePayload(entry, payload, this.#options.keys, (id) => this.#decisions.find(id))
    for (const { reason, detail } of judged.problems)
      this.#failures.add(at, { store_sequence: sequence, reason, detail })
    for (const detail of judged.warnings)
      this.#warnings.add(at, { store_sequence: sequence, reason: 'unsigned_field', detail })
    if (judged.signed !== undefined)
      this.#verify(at, sequence, entry.entry_kind, judged.signed.received, judged.signed.keys)
    if (judged.decision !== undefined) {
      this.#decisionCount += 1
      this.#decisions.remember(judged.decision)
    }
    if (judged.execution !== undefined) this.#checkExecution(at, sequence, judged.execution)
    // Later in the run stands what was removed before it.
    if (judged.checkpoint !== undefined && this.#first !== undefined)
      this.#linkedStart ||= this.#isLinked(this.#first, judged.checkpoint)
    return judged.execution
  }

  #checkExecution(at: number, sequence: number, execution: NonNullable<JudgedPayload['execution']>): void {
    const { record, digest } = execution
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

  /** Judged beside the reading of later lines; the finding still stands at its place. */
  #verify(
    at: number,
    sequence: number | null,
    detail: string,
    received: Received<unknown>,
    keys: readonly string[],
  ): void {
    const work = verifyAside(received, keys).then((isGood) => {
      const form = checkReceivedForm(received)
      if (!isGood) this.#fail(at, sequence, 'invalid_signature', detail)
      else if (!form.ok)
        this.#fail(at, sequence, form.reason === 'unknown_field' ? 'unknown_field' : 'payload_invalid', detail)
    })
    const settled = work.finally(() => this.#pending.delete(settled))
    this.#pending.add(settled)
  }

  #fail(at: number, store_sequence: number | null, reason: StoreFailureReason, detail: string): void {
    this.#failures.add(at, { store_sequence, reason, detail })
  }
}

async function verifyAside(received: Received<unknown>, keys: readonly string[]): Promise<boolean> {
  const message = receivedBytes(received)
  for (const { sig } of signaturesOf(received)) {
    for (const key of keys) if (await verifySignature(key, message, sig, undefined, 'aside')) return true
  }
  return false
}
