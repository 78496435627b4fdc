import type { Core } from '../../core.ts'

export type AuditListParts = Pick<Core, 'database' | 'reads'>
