import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../../../database/database.ts'
import { countOf } from '../../../database/large-tables.ts'
import { countDeltas } from './registrations.ts'

export function countAgents(db: Reader, now: string): Promise<number> {
  return countOf(db.selectFrom('agent_registrations').where('listed', '=', 1).where('expires_at', '>', now))
}

export async function findDescriptor(db: Reader, node_public_key: string, now: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('agent_registrations')
    .select('descriptor_json')
    .where('node_public_key', '=', node_public_key)
    .where('listed', '=', 1)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.descriptor_json
}

/** The live registration, with its row locked. */
export async function loadForRemoval(
  database: Database,
  tx: Reader,
  node_public_key: string,
  now: string,
): Promise<{ registered_at: string; expires_at: string; agent_id: string } | undefined> {
  const query = tx
    .selectFrom('agent_registrations')
    .select(['registered_at', 'expires_at', 'agent_id'])
    .where('node_public_key', '=', node_public_key)
    .where('listed', '=', 1)
    .where('expires_at', '>', now)
  return (database.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst()
}

/** Removes agents from every response. The values for comparison with a later descriptor stay. */
export async function unlistAgents(tx: Transaction, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0
  const rows = await tx.query
    .updateTable('agent_registrations')
    .set({ listed: 0 })
    .where('node_public_key', 'in', keys)
    .where('listed', '=', 1)
    .returning(['node_public_key', 'capabilities_json'])
    .execute()
  if (rows.length === 0) return 0
  await tx.query
    .deleteFrom('agent_capabilities')
    .where(
      'node_public_key',
      'in',
      rows.map((row) => row.node_public_key),
    )
    .execute()
  const changes = rows.map((row) => ({
    node_public_key: row.node_public_key,
    removed: JSON.parse(row.capabilities_json) as string[],
    added: [],
  }))
  for (const [capability, delta] of countDeltas(changes)) {
    await tx.query
      .updateTable('agent_capability_counts')
      .set({ agents: sql<number>`agents + ${delta}` })
      .where('capability', '=', capability)
      .execute()
  }
  return rows.length
}

/** Removes every agent until it registers again. Returns their number. */
export async function unlistAllAgents(tx: Transaction): Promise<number> {
  const { numUpdatedRows } = await tx.query
    .updateTable('agent_registrations')
    .set({ listed: 0 })
    .where('listed', '=', 1)
    .executeTakeFirst()
  await tx.query.deleteFrom('agent_capabilities').execute()
  await tx.query.deleteFrom('agent_capability_counts').execute()
  return Number(numUpdatedRows)
}

/** Called in the revoking transaction: an agent is removed with its node's certificate (protocol/core 9.3). */
export async function dropAgents(tx: Transaction, keys: readonly string[]): Promise<void> {
  await unlistAgents(tx, keys)
}

export async function insertTombstone(
  tx: Transaction,
  node_public_key: string,
  signed_at: string,
  keep_until: string,
): Promise<void> {
  await tx.query
    .insertInto('agent_tombstones')
    .values({ node_public_key, signed_at, keep_until })
    .onConflict((conflict) => conflict.column('node_public_key').doUpdateSet({ signed_at, keep_until }))
    .execute()
}

/** Live agents of these node keys, which a revocation would remove. */
export async function listAgentsOf(db: Reader, keys: readonly string[], now: string): Promise<readonly string[]> {
  if (keys.length === 0) return []
  const rows = await db
    .selectFrom('agent_registrations')
    .select('agent_id')
    .where('node_public_key', 'in', keys)
    .where('listed', '=', 1)
    .where('expires_at', '>', now)
    .execute()
  return rows.map((row) => row.agent_id)
}
