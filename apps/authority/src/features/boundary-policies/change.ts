import type { BoundaryPoliciesState } from './state.ts'
import type { Tx } from '../../database/database.ts'
import { raiseVersion } from '../../database/locks/domains.ts'

/** Runs a change of boundary policies in one transaction that holds their head; callers here wait for their turn. */
export function changePolicies<Result>(
  parts: BoundaryPoliciesState,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const { store, queue } = parts
  return queue.take(() =>
    store.transact(async (tx) => {
      await store.lockDomain(tx, 'boundary-policies')
      const result = await work(tx)
      // No decision trusts this stamp; the mark kept outside does, and so notices a policy that came back with a backup.
      await raiseVersion(tx, 'boundary-policies')
      return result
    }),
  )
}
