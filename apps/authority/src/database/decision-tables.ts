/** What the evidence store indexes and counts of its decisions. The stored lines stay the only evidence. */
export interface DecisionTables {
  /** One row for each decision entry; `failed_gate` is the first gate that did not pass. */
  decision_facts: { store_sequence: number; requester_sovereign_id: string; failed_gate: string | null }
  /** Decisions of an hour, once in total, once under their capability and once under each applied policy. */
  decision_hours: { hour: string; split: string; name: string; outcome: string; decisions: number }
  /**
   * One row: every decision up to `described_through` has its facts. Entries up to `present_through` are older than
   * these tables.
   */
  decision_facts_head: { id: number; described_through: number; present_through: number }
}
