import type { Reader, Transaction } from '../../database/database.ts'

export interface RevokedKey {
  readonly key_id: string
  readonly revoked_at: string
  readonly reason: string
  readonly revoked_by: string
}

export function listRevokedKeys(db: Reader): Promise<readonly RevokedKey[]> {
  return db.selectFrom('revoked_operator_keys').selectAll().execute()
}

export async function insertRevokedKey(tx: Transaction, row: RevokedKey): Promise<void> {
  await tx.query.insertInto('revoked_operator_keys').values(row).execute()
}
