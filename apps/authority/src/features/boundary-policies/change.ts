import type { Office } from '../../office.ts'
import type { Tx } from '../../store/database.ts'
import { bumpHead } from '../../store/heads.ts'

/** Runs a change of boundary policies in one transaction that holds their head; callers here wait for their turn. */
export function changePolicies<Result>(office: Office, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const { store, boundaryPolicyTurns } = office
  return boundaryPolicyTurns.take(() =>
    store.transact(async (tx) => {
      await store.lockHead(tx, 'boundary-policies')
      const result = await work(tx)
      // No decision trusts this stamp; the mark kept outside does, and so notices a policy that came back with a backup.
      await bumpHead(tx, 'boundary-policies')
      return result
    }),
  )
}
