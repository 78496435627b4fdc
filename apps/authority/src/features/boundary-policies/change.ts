import type { Office } from '../../office.ts'
import type { Tx } from '../../store/database.ts'

/** Runs a change of boundary policies in one transaction that holds their head; callers here wait for their turn. */
export function changePolicies<Result>(office: Office, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const { store, boundaryPolicyTurns } = office
  return boundaryPolicyTurns.take(() =>
    store.transact(async (tx) => {
      await store.lockHead(tx, 'boundary-policies')
      return work(tx)
    }),
  )
}
