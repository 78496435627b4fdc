import { audit } from '@chancery/contract'
import { assignSequences } from '../../audit/sequence.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import type { Feature } from '../../core.ts'
import { type AuditListParts, list } from './list.ts'

export function openAuditList(parts: AuditListParts): Feature {
  return {
    routes: [bindRead(audit.list, parts, (call, database) => list(call, { database }))],
    // On PostgreSQL, so that listed events have their numbers without an export.
    jobs: [{ name: 'audit-numbers', everySeconds: 15, run: () => assignSequences(parts.database) }],
    close: () => Promise.resolve(),
  }
}
