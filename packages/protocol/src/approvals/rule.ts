import type { Approvers } from '../artifacts/approval-request.ts'
import type { FactPath, Facts } from '../boundary/facts.ts'
import type { UnreadAmount } from '../budgets/amounts.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import type { Show } from './bound-request.ts'

/** The config of an approval.v1 gate, read. */
export interface ApprovalRule {
  readonly title: string
  /** As it was written: the proof has it. */
  readonly when: JsonObject
  /** Whether a request needs a person, or why that cannot be said. */
  readonly isNeeded: (facts: Facts, gate_name: string) => boolean | UnreadAmount
  /** For a gate that asks for the first use: what the request uses. Undefined where a fact is missing. */
  readonly useKey: ((facts: Facts, gate_name: string) => string | undefined) | undefined
  readonly approvers: readonly Approvers[]
  readonly show: Show
  readonly expiresSeconds: number
  readonly useWithinSeconds: number
  /** What the approval does not bind. */
  readonly unbound: readonly FactPath[]
}
