import { audit } from '@chancery/contract'
import { assignSequences } from '../../audit/sequence.ts'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { list } from './list.ts'
import type { AuditListParts } from './parts.ts'

export function openAuditList(parts: AuditListParts): Feature {
  return {
    routes: [bind(audit.list, (call) => list(call, parts))],
    // On PostgreSQL, so that listed events have their numbers without an export.
    jobs: [{ name: 'audit-numbers', everySeconds: 15, run: () => assignSequences(parts.database) }],
    close: () => Promise.resolve(),
  }
}
