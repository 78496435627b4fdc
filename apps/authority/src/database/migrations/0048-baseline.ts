import { sql } from 'kysely'
import type { ColumnTypes, Migration, Query } from '../database.ts'
import { auditedDetail } from '../partitions/audit-partitions.ts'
import { EVIDENCE_TABLES } from './0048-evidence-tables.ts'
import { NETWORK_TABLES } from './0048-network-tables.ts'
import { POSTGRES, SQLITE } from './0048-own-statements.ts'

/** The schema of release 0.2.0 at once. Databases of releases before it are refused. */
export const baseline: Migration = {
  version: 48,
  async up(tx, types) {
    const own = types.backend === 'sqlite' ? SQLITE : POSTGRES
    for (const statement of [...tablesOf(types), ...own]) await sql.raw(statement).execute(tx)
    await insertFirstRows(tx)
  },
}

/** Rows that are locked or counted up, so that they must exist. */
async function insertFirstRows(tx: Query): Promise<void> {
  const heads = ['operator-keys', 'crl', 'policy', 'recognition-policy', 'treaties', 'feed', 'imports']
  heads.push('boundary-policies', 'data-usage', 'evidence-anchors', 'partners', 'admission')
  await tx
    .insertInto('heads')
    .values(heads.map((name) => ({ name, version: 0 })))
    .execute()
  await tx.insertInto('evidence_head').values({ id: 1, last_sequence: 0, removed_through: 0, rejections: 0 }).execute()
  const spans = ['minute', 'day', 'duplicate-minute', 'duplicate-day']
  await tx
    .insertInto('evidence_rejection_counts')
    .values(spans.map((span) => ({ span, number: 0, singles: 0 })))
    .execute()
  await tx.insertInto('decision_facts_head').values({ id: 1, described_through: 0, present_through: 0 }).execute()
  await tx
    .insertInto('issued_counts')
    .values({ id: '', issued: 0, revoked: 0, removed: 0, removed_revoked: 0 })
    .execute()
  await tx.insertInto('node_liveness_counts').values({ id: '', live: 0 }).execute()
}

/** In the words of PostgreSQL. `collate "C"` orders by code point as SQLite does, and serves a search by prefix. */
function tablesOf({ backend, bigint, binary }: ColumnTypes): readonly string[] {
  return `${NETWORK_TABLES}${EVIDENCE_TABLES}`
    .replaceAll('bigint', bigint)
    .replaceAll('bytea', binary)
    .replaceAll(backend === 'sqlite' ? ' collate "C"' : ' without rowid', '')
    .replaceAll(/DETAIL_(treaty_id|rule_id)/g, (_, name: 'treaty_id' | 'rule_id') => auditedDetail(backend, name))
    .trim()
    .split(';\n')
}
