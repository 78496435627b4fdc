import type { RevokedKey } from '../../auth/operator-keys.ts'
import type { Transaction } from '../../database/database.ts'

export async function insertRevokedKey(tx: Transaction, row: RevokedKey): Promise<void> {
  await tx.query.insertInto('revoked_operator_keys').values(row).execute()
}
