import type { ImportedRevocation, TreatyFact } from '@chancery/protocol'
import type { Tx } from '../../store/database.ts'

/** Everything the graph needs of every treaty, in order of issue and without the signed texts. */
export function listTreatyFacts(db: Tx): Promise<readonly TreatyFact[]> {
  return db
    .selectFrom('recognition_treaties')
    .select([
      'treaty_id',
      'issuer_sovereign_id',
      'subject_sovereign_id',
      'status',
      'valid_from',
      'expires_at',
      'revoked_at',
      'revocation_reason',
    ])
    .orderBy('issued_at')
    .orderBy('treaty_id')
    .execute()
}

/** Signed texts of the treaties that may be shown as active. */
export function listTreatyTexts(db: Tx): Promise<readonly { treaty_id: string; treaty_json: string }[]> {
  return db
    .selectFrom('recognition_treaties')
    .select(['treaty_id', 'treaty_json'])
    .where('status', '=', 'active')
    .execute()
}

export function listImportedRevocations(db: Tx): Promise<readonly ImportedRevocation[]> {
  return db.selectFrom('imported_sovereign_revocations').selectAll().execute()
}
