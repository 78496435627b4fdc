import { sql } from 'kysely'
import { isJsonObject, readJson } from '@chancery/protocol'
import type { Query } from '../database.ts'
import type { Migration } from '../migration.ts'

const PAGE_ROWS = 500

/** Which attestations the mesh may show, as their claims say, so that they are found without reading all others. */
export const publishedAttestations: Migration = {
  version: 12,
  async up(tx) {
    await sql`alter table membership_attestations add column published integer not null default 0`.execute(tx)
    await markPublished(tx)
    await sql`create index attestations_published on membership_attestations (issued_at, attestation_id) where published = 1`.execute(
      tx,
    )
    await sql`create index attestations_published_by_status on membership_attestations (status, issued_at, attestation_id) where published = 1`.execute(
      tx,
    )
  },
}

/** Read here and not by the database: its JSON functions refuse records that are valid for us. */
async function markPublished(tx: Query): Promise<void> {
  let last = ''
  for (;;) {
    const rows = await tx
      .selectFrom('membership_attestations')
      .select(['attestation_id', 'attestation_json'])
      .where('attestation_id', '>', last)
      .where('attestation_json', 'like', '%"public_mesh":true%')
      .orderBy('attestation_id')
      .limit(PAGE_ROWS)
      .execute()
    for (const { attestation_id, attestation_json } of rows) {
      if (!saysPublished(attestation_json)) continue
      await sql`update membership_attestations set published = 1 where attestation_id = ${attestation_id}`.execute(tx)
    }
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.attestation_id
  }
}

function saysPublished(text: string): boolean {
  const record = readJson(text)
  const claims = isJsonObject(record) ? record['claims'] : undefined
  return isJsonObject(claims) && claims['public_mesh'] === true
}
