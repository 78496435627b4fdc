import type { Database } from '../../../database/database.ts'
import type { FoundDecision } from './search.ts'
import { IdStatement } from '../../../database/statement.ts'

/** A decision with the entries about it. */
export interface DecisionGroup {
  readonly decision_id: string
  /** How many executions it has, also when `lines` has only the newest of them. */
  readonly executions: number
  /** Decision, justification and the newest executions, in store order. */
  readonly lines: readonly string[]
}

interface GroupRow {
  readonly id: string
  readonly exec_sequence_no: number | null
  readonly line: string
}

/** Newest executions in a group: a decision can have any number of them. */
const SHOWN_EXECUTIONS = 5

const JUSTIFICATIONS = new IdStatement<GroupRow>(
  'evidence-group-justifications',
  (ids) => `
  select t.id, null as exec_sequence_no, j.line from ${ids} join evidence_entries j
    on j.decision_id = t.id and j.entry_kind = 'justification' order by j.store_sequence`,
)

// A decision with many executions costs no more than one with few: positions have no gaps, so the last one is the
// number, and the newest are a range before it.
const EXECUTIONS = new IdStatement<GroupRow>(
  'evidence-group-executions',
  (ids) => `
  select last.id, x.exec_sequence_no, x.line from (
    select t.id, (select e.exec_sequence_no from evidence_entries e
      where e.entry_kind = 'execution' and e.decision_id = t.id order by e.exec_sequence_no desc limit 1) as number
    from ${ids}) last
  join evidence_entries x on x.entry_kind = 'execution' and x.decision_id = last.id
    and x.exec_sequence_no > last.number - ${SHOWN_EXECUTIONS}
  order by x.store_sequence`,
)

/** The groups of decisions, in their order. Three index probes for each. */
export async function readGroups(
  database: Database,
  decisions: readonly FoundDecision[],
): Promise<readonly DecisionGroup[]> {
  const ids = decisions.flatMap(({ decision_id }) => decision_id ?? [])
  const rows = [
    ...(await JUSTIFICATIONS.run(database, database.read, ids)),
    ...(await EXECUTIONS.run(database, database.read, ids)),
  ]
  const byId = Map.groupBy(rows, ({ id }) => id)
  return decisions.map(({ decision_id, line }) => {
    const others = byId.get(decision_id ?? '') ?? []
    const executions = Math.max(0, ...others.map((row) => Number(row.exec_sequence_no ?? 0)))
    return { decision_id: decision_id ?? '', executions, lines: [line, ...others.map((row) => row.line)] }
  })
}
