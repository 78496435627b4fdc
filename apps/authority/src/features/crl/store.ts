import type { Tx } from '../../store/database.ts'
import { assertKept } from '../../store/kept.ts'

export interface StoredCrl {
  readonly sequence: number
  readonly crl_json: string
}

/** The highest sequence is the active list. */
export function findActiveCrl(db: Tx): Promise<StoredCrl | undefined> {
  return db
    .selectFrom('crl_versions')
    .select(['sequence', 'crl_json'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The sequence is the primary key: one number can only ever have one content. */
export async function insertCrl(tx: Tx, crl: StoredCrl, created_at: string): Promise<void> {
  const row = await tx
    .insertInto('crl_versions')
    .values({ ...crl, created_at })
    .returning('crl_json')
    .executeTakeFirst()
  assertKept(crl.crl_json, row?.crl_json)
}
