import type { AuditEventType } from '@chancery/contract'

/** Read as permanent state: which treaties were revoked, which rules removed, and which lists may have a gap. */
export const STAYING: readonly string[] = [
  'recognition_treaty_revoked',
  'admission_rule_removed',
  'state_recovered',
] satisfies AuditEventType[]
