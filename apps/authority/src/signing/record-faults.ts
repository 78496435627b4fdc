import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Log } from '@chancery/service-kit'

/**
 * What stored rows may contradict: something this authority has signed. Each stops what would be signed or granted on
 * it, and nothing else.
 */
export const RECORD_FAULTS = {
  crl: 'crl_incomplete',
  feed: 'feed_incomplete',
  treaties: 'treaty_unverified',
  evidenceLog: 'evidence_log_contradicted',
} as const

export type FaultKind = keyof typeof RECORD_FAULTS

export const FAULT_KINDS = Object.keys(RECORD_FAULTS) as readonly FaultKind[]

/** Without these nothing can be withdrawn, so the instance is not ready. The others leave the rest as it is. */
const WITHDRAWALS: readonly FaultKind[] = ['crl', 'feed']

/**
 * Faults of stored records as this process has last seen them. Whoever looks reports what was found or that all is well:
 * a fault ends when the same check finds nothing, not by itself.
 */
export class RecordFaults {
  readonly #log: Log
  readonly #found = new Set<FaultKind>()

  constructor(log: Log) {
    this.#log = log
  }

  report(kind: FaultKind, details: JsonObject): void {
    if (this.#found.has(kind)) return
    this.#found.add(kind)
    this.#log.error('stored rows contradict what was signed: nothing is signed on them', {
      alarm: true,
      reason: RECORD_FAULTS[kind],
      ...details,
    })
  }

  clear(kind: FaultKind): void {
    if (this.#found.delete(kind)) this.#log.info('stored rows agree with what was signed', { was: RECORD_FAULTS[kind] })
  }

  has(kind: FaultKind): boolean {
    return this.#found.has(kind)
  }

  /** Reasons why the instance is not ready. */
  get halts(): readonly string[] {
    return this.#reasons((kind) => WITHDRAWALS.includes(kind))
  }

  /** Reasons that stop one kind of signature only. */
  get warnings(): readonly string[] {
    return this.#reasons((kind) => !WITHDRAWALS.includes(kind))
  }

  #reasons(isWanted: (kind: FaultKind) => boolean): readonly string[] {
    return FAULT_KINDS.filter((kind) => this.#found.has(kind) && isWanted(kind)).map((kind) => RECORD_FAULTS[kind])
  }
}

/** Stops a transaction before anything is signed on rows that contradict what was signed. */
export class RecordFault extends Refusal {
  constructor(kind: FaultKind, problem: string) {
    super('service_unavailable', { reason: RECORD_FAULTS[kind] }, { cause: new Error(problem) })
  }
}

/** Keeps what a check came to; throws when it found something. */
export function clearFault(faults: RecordFaults, kind: FaultKind, problem: string | undefined): void {
  if (problem === undefined) return faults.clear(kind)
  faults.report(kind, { problem })
  throw new RecordFault(kind, problem)
}
