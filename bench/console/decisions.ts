import { type Database, numbersFrom, onDatabase } from '../lib/databases.ts'

const AT_ONCE = 5000

/** Copies the first decision of the store, with other ids. The store would not verify; its lists read it like others. */
export async function copyDecision(database: Database, count: number): Promise<void> {
  const isPostgres = database.kind === 'postgres'
  const id = isPostgres ? 'md5(n::text)' : "printf('%032x', n)"
  const columns = 'entry_kind, recorded_at, entry_digest, vendor_id, attestation_id, capability, outcome'
  await onDatabase(database, async (execute) => {
    for (let from = 3; from < count + 3; from += AT_ONCE) {
      const numbers = numbersFrom(database, from, Math.min(from + AT_ONCE, count + 3) - 1)
      await execute(`insert into evidence_entries (store_sequence, decision_id, line, ${columns})
        select n, ${id}, replace(replace(line, decision_id, ${id}), '"store_sequence":1,', '"store_sequence":' || n || ','), ${columns}
        from evidence_entries, ${numbers} where store_sequence = 1`)
      await execute(`insert into decision_facts (store_sequence, requester_sovereign_id, failed_gate)
        select n, requester_sovereign_id, failed_gate from decision_facts, ${numbers} where store_sequence = 1`)
    }
    await execute(`update evidence_head set last_sequence = ${count + 2}`)
    await execute(`update decision_facts_head set described_through = ${count + 2}`)
    await execute(`update decision_hours set decisions = ${count + 1}`)
    await execute('analyze')
  })
}
