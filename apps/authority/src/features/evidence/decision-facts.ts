import { HOUR, instantOf, writeSortable } from '@chancery/protocol'
import type { BoundaryDecision, ContextRecord, EvidenceStoreEntry } from '@chancery/protocol'
import type { Tables } from '../../database/tables.ts'

/** What a stored decision is found and counted by, besides its envelope. */
export interface DecisionFacts {
  readonly requester_sovereign_id: string
  /** The first gate that did not pass. */
  readonly failed_gate: string | null
  /** Ids of the policies it applied, without versions. */
  readonly policies: readonly string[]
}

export type FactsRow = Tables['decision_facts']
export type HourRow = Tables['decision_hours']

type Decided = Pick<BoundaryDecision, 'gate_results' | 'policy_binding'>

export function decisionFacts(
  decision: Decided,
  context: Pick<ContextRecord, 'requester_sovereign_id'>,
): DecisionFacts {
  return {
    requester_sovereign_id: context.requester_sovereign_id,
    failed_gate: decision.gate_results.find(({ passed }) => !passed)?.gate_name ?? null,
    policies: [...new Set(decision.policy_binding?.policies.map(({ policy_id }) => policy_id) ?? [])],
  }
}

/** An entry with its facts; an entry that is no decision has none. */
export interface Described {
  readonly entry: EvidenceStoreEntry
  readonly facts?: DecisionFacts
}

export function toFactsRows(entries: readonly Described[]): readonly FactsRow[] {
  return entries.flatMap(({ entry: { store_sequence }, facts }) =>
    facts === undefined
      ? []
      : [{ store_sequence, requester_sovereign_id: facts.requester_sovereign_id, failed_gate: facts.failed_gate }],
  )
}

/** The counts of these decisions: one row for each hour, split, name and outcome. */
export function toHourRows(entries: readonly Described[]): readonly HourRow[] {
  const rows = new Map<string, HourRow>()
  for (const { entry, facts } of entries) {
    if (facts === undefined) continue
    const [at, outcome] = [instantOf(entry.recorded_at), entry.outcome ?? '']
    const hour = writeSortable(at - (at % HOUR))
    const names = [
      ['total', ''],
      ['capability', entry.capability ?? ''],
      ...facts.policies.map((policy) => ['policy', policy] as const),
    ] as const
    for (const [split, name] of names) {
      const key = JSON.stringify([hour, split, name, outcome])
      const decisions = (rows.get(key)?.decisions ?? 0) + 1
      rows.set(key, { hour, split, name, outcome, decisions })
    }
  }
  return [...rows.values()]
}
