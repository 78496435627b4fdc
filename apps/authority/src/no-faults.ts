import type { AuditEventType } from '@chancery/contract'
import type { FaultPoint } from './faults.ts'

/** What a release runs: fault points do not exist. */
export function faultPoint(_name: FaultPoint): void {}

export function auditedPoint(_tx: object, _events: readonly { readonly type: AuditEventType }[]): void {}

export function committedPoint(_tx: object): void {}
