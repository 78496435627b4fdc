/**
 * Kills the process at a named point, so that crash tests can prove what is stored. Test builds only (the `development`
 * condition): the built package resolves `#faults` to no-fault-points.ts, which does nothing.
 */
const wanted = process.env['CHANCERY_FAULT_POINT']
let remaining = Number(process.env['CHANCERY_FAULT_AFTER'] ?? '0')

export function faultPoint(name: FaultPoint): void {
  if (name !== wanted) return
  remaining -= 1
  if (remaining < 0) process.kill(process.pid, 'SIGKILL')
}

/** Every point that a crash test may name. */
export type FaultPoint =
  | 'checkpoint-begun'
  | 'checkpoint-written'
  | 'checkpoint-committed'
  | 'checkpoint-published'
  | 'event-begun'
  | 'event-written'
  | 'event-committed'
  | 'event-answered'
  | 'acknowledged'
  | 'acknowledgement-committed'
