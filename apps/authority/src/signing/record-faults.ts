import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Log } from '@chancery/service-kit'

/**
 * Kinds of signed records that stored rows may contradict. A fault stops only what would be signed or granted from
 * these rows.
 */
export const RECORD_FAULTS = {
  crl: 'crl_incomplete',
  feed: 'feed_incomplete',
  treaties: 'treaty_unverified',
  evidenceLog: 'evidence_log_contradicted',
} as const

export type FaultKind = keyof typeof RECORD_FAULTS

export const FAULT_KINDS = Object.keys(RECORD_FAULTS) as readonly FaultKind[]

/** Without these nothing can be revoked, so the instance is not ready. The other kinds do not affect readiness. */
const REVOCATION_KINDS: readonly FaultKind[] = ['crl', 'feed']

/**
 * Faults of stored records as this process last found them. Each check reports a fault or that there is none: a fault
 * ends only when the same check finds nothing.
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
    this.#log.error('stored rows contradict signed records: nothing is signed from them', {
      alarm: true,
      reason: RECORD_FAULTS[kind],
      ...details,
    })
  }

  clear(kind: FaultKind): void {
    if (this.#found.delete(kind))
      this.#log.info('stored rows agree with signed records again', { was: RECORD_FAULTS[kind] })
  }

  has(kind: FaultKind): boolean {
    return this.#found.has(kind)
  }

  /** Reasons why the instance is not ready. */
  get halts(): readonly string[] {
    return this.#reasons((kind) => REVOCATION_KINDS.includes(kind))
  }

  /** Reasons that stop one kind of signature only. */
  get warnings(): readonly string[] {
    return this.#reasons((kind) => !REVOCATION_KINDS.includes(kind))
  }

  #reasons(isWanted: (kind: FaultKind) => boolean): readonly string[] {
    return FAULT_KINDS.filter((kind) => this.#found.has(kind) && isWanted(kind)).map((kind) => RECORD_FAULTS[kind])
  }
}

/** Stops a transaction before anything is signed from rows that contradict signed records. */
export class RecordFault extends Refusal {
  constructor(kind: FaultKind, problem: string) {
    super('service_unavailable', { reason: RECORD_FAULTS[kind] }, { cause: new Error(problem) })
  }
}

/** Records the result of a check. Throws when it found a fault. */
export function clearFault(faults: RecordFaults, kind: FaultKind, problem: string | undefined): void {
  if (problem === undefined) return faults.clear(kind)
  faults.report(kind, { problem })
  throw new RecordFault(kind, problem)
}
