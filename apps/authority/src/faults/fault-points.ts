import type { AuditEventType } from '@chancery/contract'

/**
 * Test builds only (the `development` condition): kills or pauses the process at a named point, so that crash tests can
 * prove what is stored. The built package resolves `#faults` to no-fault-points.ts, where this does nothing.
 */
const wanted = process.env['CHANCERY_FAULT_POINT']
let remaining = Number(process.env['CHANCERY_FAULT_AFTER'] ?? '0')
/** SIGSTOP pauses instead, like a machine that swaps or is moved. The test resumes it. */
const signal = process.env['CHANCERY_FAULT_SIGNAL'] === 'SIGSTOP' ? 'SIGSTOP' : 'SIGKILL'

export function faultPoint(name: FaultPoint): void {
  if (name !== wanted) return
  remaining -= 1
  // Paused once only. A killed process counts no further.
  if (remaining === -1) process.kill(process.pid, signal)
}

/** Transactions whose COMMIT a crash test waits for. */
const awaited = new WeakSet<object>()

/** Each change has two more points, named after its event. Here it is written with its event, not committed. */
export function faultAfterAudit(tx: object, rows: readonly { readonly event_type: string }[]): void {
  for (const { event_type: type } of rows) {
    if (wanted === `committed:${type}`) awaited.add(tx)
    faultPoint(`audited:${type as AuditEventType}`)
  }
}

/** Here it is committed, and no response was sent. Every write of the database passes here. */
export function faultAfterCommit(tx: object): void {
  faultPoint('committed')
  if (awaited.delete(tx)) faultPoint(wanted as FaultPoint)
}

/**
 * Every point that a crash test may name. `committed` is reached after each write of the database. Points named after
 * events are reached where the event is recorded, also in batches.
 */
export type FaultPoint =
  | 'committed'
  | `audited:${AuditEventType}`
  | `committed:${AuditEventType}`
  | 'join-read'
  | 'join-proved'
  | 'join-sealed'
  | 'join-committed'
  | 'renew-locked'
  | 'renew-sealed'
  | 'renew-stored'
  | 'renew-committed'
  | 'revoke-marked'
  | 'revoke-committed'
  | 'crl-signed'
  | 'crl-stored'
  | 'switch-identity-stored'
  | 'switch-policy-stored'
  | 'switch-feed-stored'
  | 'switch-checkpoint-stored'
  | 'switch-phase-stored'
  | 'evidence-locked'
  | 'evidence-inserted'
  | 'evidence-audited'
  | 'evidence-committed'
  | 'anchor-checked'
  | 'anchor-signed'
  | 'anchor-stored'
  | 'anchor-committed'
  | 'retention-found'
  | 'retention-verified'
  | 'retention-signed'
  | 'retention-stored'
  | 'retention-committed'
  | 'retention-swept'
  | 'retention-dropped'
  | 'partitions-bounded'
  | 'partitions-checked'
  | 'partitions-attached'
  | 'partitions-replaced'
  | 'log-tiles-stored'
  | 'log-checkpoint-stored'
