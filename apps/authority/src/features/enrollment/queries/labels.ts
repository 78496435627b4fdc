import type { Reader, Transaction } from '../../../database/database.ts'
import type { Tables } from '../../../database/tables.ts'

export async function hasCertificate(db: Reader, node_public_key: string): Promise<boolean> {
  const row = await db
    .selectFrom('issued_certs')
    .select('cert_id')
    .where('node_public_key', '=', node_public_key)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function storeLabel(tx: Transaction, row: Tables['node_labels']): Promise<void> {
  const { label, folded } = row
  await tx.query
    .insertInto('node_labels')
    .values(row)
    .onConflict((conflict) => conflict.column('node_public_key').doUpdateSet({ label, folded }))
    .execute()
}

export async function removeLabel(tx: Transaction, node_public_key: string): Promise<void> {
  await tx.query.deleteFrom('node_labels').where('node_public_key', '=', node_public_key).execute()
}
