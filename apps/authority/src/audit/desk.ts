import { Batcher, endOfTurn } from '@chancery/service-kit'
import type { Office } from '../office.ts'
import { auditRows, recordAudits } from './record.ts'
import type { AuditEvent } from './record.ts'

/** Events that are the only thing a request keeps; those that wait share one statement, committed before any answer. */
export type AuditDesk = Batcher<readonly AuditEvent[], true>

export function openAuditDesk(office: () => Office): AuditDesk {
  return new Batcher(
    async (groups) => {
      await insertEvents(office(), groups.flat())
      return groups.map(() => true as const)
    },
    { maxItems: 200, maxWaiting: 5000, gather: endOfTurn },
  )
}

/** Prepared once where the engine can: a statement of its own for each number of rows costs more than the rows. */
async function insertEvents(office: Office, events: readonly AuditEvent[]): Promise<void> {
  const { engine, db } = office.store
  if (engine.kind !== 'postgres') return recordAudits(db, office, events)
  const rows = auditRows(office, events)
  await engine.run(
    'insert-audits',
    'insert into audit_events (event_id, event_type, event_json, created_at) ' +
      'select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])',
    [
      rows.map((row) => row.event_id),
      rows.map((row) => row.event_type),
      rows.map((row) => row.event_json),
      rows.map((row) => row.created_at),
    ],
  )
}
