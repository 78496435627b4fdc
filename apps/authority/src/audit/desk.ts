import { Batcher } from '@chancery/service-kit'
import type { Office } from '../office.ts'
import { recordAudits } from './record.ts'
import type { AuditEvent } from './record.ts'

/** Events that are the only thing a request keeps; those that wait share one statement, committed before any answer. */
export type AuditDesk = Batcher<readonly AuditEvent[], true>

export function openAuditDesk(office: () => Office): AuditDesk {
  return new Batcher(
    async (groups) => {
      await recordAudits(office().store.db, office(), groups.flat())
      return groups.map(() => true as const)
    },
    { maxItems: 200, maxWaiting: 5000 },
  )
}
