import { createTestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { migrate } from '../migrate.ts'
import { openDatabase } from '../open.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

it('marks what an earlier release issued, by its claims alone', async () => {
  const place = await createTestDatabase()
  const { DB_PATH: path, DATABASE_URL: url } = place.settings
  const database = openDatabase(path === undefined ? { kind: 'postgres', url: url ?? '' } : { kind: 'sqlite', path })
  try {
    await migrate(database, () => 0n, { upTo: 11 })
    const records: Readonly<Record<string, string>> = {
      shown: '{"claims":{"public_mesh":true,"text":"\\u0000"}}',
      inner: '{"claims":{"inner":{"public_mesh":true}}}',
      quoted: '{"claims":{"text":"\\"public_mesh\\":true"}}',
      beside: '{"claims":{},"public_mesh":true}',
      none: '{"claims":{"public_mesh":false}}',
    }
    for (const [id, text] of Object.entries(records)) {
      await sql`insert into membership_attestations (attestation_id, issuer_sovereign_id, subject_id, status, attestation_json, issued_at)
        values (${id}, 'TEST-NET', 'x', 'active', ${text}, '2026-01-01T00:00:00.000000Z')`.execute(rowsOf(database))
    }
    await migrate(database, () => 0n, { upTo: 12 })
    const marked = await sql<{
      attestation_id: string
    }>`select attestation_id from membership_attestations where published = 1`.execute(database.read)
    expect(marked.rows.map((row) => row.attestation_id)).toEqual(['shown'])
  } finally {
    await database.close()
    await place.drop()
  }
})
