import type { ImportedRevocation, TreatyFact } from '@chancery/protocol'
import type { SignedTreatyRow } from '../../signing/verified-treaties.ts'
import type { Database, Reader } from '../../database/database.ts'
import { isRevokedInAudit } from '../../audit/revoked-treaties.ts'

/** Returns every treaty for the graph, in order of issue and without the signed texts. */
export function listTreatyFacts(db: Reader): Promise<readonly TreatyFact[]> {
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

/** Treaties by id, with their signed texts. */
export function listSignedTreaties(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  ids: readonly string[],
): Promise<readonly SignedTreatyRow[]> {
  return read
    .selectFrom('recognition_treaties')
    .select([
      'treaty_id',
      'issuer_sovereign_id',
      'subject_sovereign_id',
      'valid_from',
      'expires_at',
      'treaty_json',
      'status',
    ])
    .select(isRevokedInAudit(engine).as('revoked_in_audit'))
    .where('treaty_id', 'in', ids)
    .execute()
}

/** The last position of a page of texts. */
export interface TextPosition {
  readonly issued_at: string
  readonly treaty_id: string
}

const TEXTS_PER_PAGE = 1000

/** Signed texts in order of issue, in any state. */
export function pageTreatyTexts(
  db: Reader,
  after: TextPosition | undefined,
): Promise<readonly (TextPosition & { readonly treaty_json: string })[]> {
  const page = db
    .selectFrom('recognition_treaties')
    .select(['issued_at', 'treaty_id', 'treaty_json'])
    .orderBy('issued_at')
    .orderBy('treaty_id')
    .limit(TEXTS_PER_PAGE)
  if (after === undefined) return page.execute()
  const { issued_at, treaty_id } = after
  return page.where((eb) => eb(eb.refTuple('issued_at', 'treaty_id'), '>', eb.tuple(issued_at, treaty_id))).execute()
}

/** The graph has at most this number of imported revocations: the newest by import time. */
export const MAX_GRAPH_REVOCATIONS = 10_000

export function listNewestRevocations(db: Reader): Promise<readonly ImportedRevocation[]> {
  return db
    .selectFrom('imported_sovereign_revocations')
    .selectAll()
    .orderBy('imported_at', 'desc')
    .orderBy('issuer_sovereign_id')
    .orderBy('attestation_id')
    .limit(MAX_GRAPH_REVOCATIONS)
    .execute()
}

/** Number of all imported revocations of each issuer. */
export async function countRevocations(db: Reader): Promise<ReadonlyMap<string, number>> {
  const rows = await db.selectFrom('imported_issuers').select(['issuer_sovereign_id', 'ids']).execute()
  return new Map(rows.map(({ issuer_sovereign_id, ids }) => [issuer_sovereign_id, Number(ids)]))
}
