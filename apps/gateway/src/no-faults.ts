import type { FaultPoint } from './faults.ts'

/** What a release runs: fault points do not exist. */
export function faultPoint(_name: FaultPoint): void {}
