import type { FaultPoint } from './fault-points.ts'

/** Used in a release: there are no fault points. */
export function faultPoint(_name: FaultPoint): void {}

export function faultAfterAudit(_tx: object, _rows: readonly { readonly event_type: string }[]): void {}

export function faultAfterCommit(_tx: object): void {}
