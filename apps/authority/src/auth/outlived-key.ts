import type { AuthParts } from './callers.ts'
import type { Transaction } from '../database/database.ts'
import { checkRevoked, listRevokedKeys } from './operator-keys.ts'
import { type OperatorCall, refuseRevokedKey } from './operator.ts'

class RevokedMeanwhileError extends Error {
  override readonly name = 'RevokedMeanwhileError'
}

/**
 * For records that end together with the key that made them. Revoking the key ends all of them, and a running call must
 * not add another one afterwards. It uses the lock of the revocation. The lock is taken last, so that a revocation
 * waits for a commit at most.
 */
export async function transactWithKey<Result>(
  call: OperatorCall,
  parts: Pick<AuthParts, 'audit' | 'database' | 'limits' | 'operators'>,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const { database } = parts
  try {
    return await database.write(async (tx) => {
      const done = await work(tx)
      await tx.lock('operator-keys')
      if (checkRevoked(await listRevokedKeys(tx.query))(call.operator)) throw new RevokedMeanwhileError()
      return done
    })
  } catch (error) {
    if (!(error instanceof RevokedMeanwhileError)) throw error
    return refuseRevokedKey(call, parts)
  }
}
