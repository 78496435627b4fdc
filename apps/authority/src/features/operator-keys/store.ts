import type { Tx } from '../../store/database.ts'

export interface RevokedKey {
  readonly key_id: string
  readonly revoked_at: string
  readonly reason: string
  readonly revoked_by: string
}

export function listRevokedKeys(db: Tx): Promise<readonly RevokedKey[]> {
  return db.selectFrom('revoked_operator_keys').selectAll().execute()
}

export async function insertRevokedKey(tx: Tx, row: RevokedKey): Promise<void> {
  await tx.insertInto('revoked_operator_keys').values(row).execute()
}
