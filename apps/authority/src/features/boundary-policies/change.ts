import type { BoundaryPoliciesState } from './state.ts'
import type { Tx } from '../../database/database.ts'
import { raiseVersion } from '../../database/locks/domains.ts'

/** Runs a change of boundary policies in one transaction that holds their head; callers here wait for their turn. */
export function changePolicies<Result>(
  parts: BoundaryPoliciesState,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const { database, queue } = parts
  return queue.take(() =>
    database.write(async (tx) => {
      await database.lockDomain(tx, 'boundary-policies')
      const result = await work(tx)
      // No decision trusts this stamp; the mark kept outside does, and so notices a policy that came back with a backup.
      await raiseVersion(tx, 'boundary-policies')
      return result
    }),
  )
}
