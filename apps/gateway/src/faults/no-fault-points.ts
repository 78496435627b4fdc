import type { FaultPoint } from './fault-points.ts'

/** Does nothing. A release has no fault points. */
export function faultPoint(_name: FaultPoint): void {}
