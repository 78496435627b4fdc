import type { BoundaryPoliciesState } from './state.ts'
import type { Transaction } from '../../database/database.ts'

/** Runs a change of boundary policies in one transaction that locks their domain row. Callers of this process queue. */
export function changePolicies<Result>(
  parts: BoundaryPoliciesState,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const { database, queue } = parts
  return queue.take(() =>
    database.write(async (tx) => {
      await tx.lock('boundary-policies')
      const result = await work(tx)
      // No decision uses this version. The high-water mark does, and so detects a policy that a backup restored.
      await tx.raiseVersion('boundary-policies')
      return result
    }),
  )
}
