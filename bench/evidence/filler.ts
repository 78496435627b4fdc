import type pg from 'pg'
import { withClient } from '../lib/databases.ts'

const TILE_WIDTH = 256
const HASH_BYTES = 32

/**
 * Fills a store as if this many entries had been appended long ago: every indexed column is as varied as in a real
 * store, lines are short. An append reads only the head and the indexes, so nothing else matters; the store would not
 * verify.
 */
export async function fillStore(url: string, entries: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('set synchronous_commit = off')
    await client.query("set maintenance_work_mem = '512MB'")
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      "select indexname as name, indexdef as definition from pg_indexes where tablename = 'evidence_entries' and indexname not like '%pkey'",
    )
    // Built at once over all rows, not row by row.
    for (const { name } of indexes) await client.query(`drop index ${name}`)
    await client.query(
      'insert into evidence_entries (store_sequence, entry_kind, recorded_at, entry_digest, decision_id, vendor_id, attestation_id, capability, outcome, line) ' +
        "select n, 'decision', '2020-01-01T00:00:00.000000Z', repeat(md5(n::text), 2), md5('d' || n), 'vendor-' || n % 1000, md5('a' || n % 5000), 'secret.rotate', 'authorized', repeat('x', 300) " +
        'from generate_series(1, $1::bigint) n',
      [entries],
    )
    for (const { definition } of indexes) await client.query(definition)
    await client.query(
      'update evidence_head set last_sequence = $1::bigint, last_digest = repeat(md5(($1::bigint)::text), 2), last_recorded_at = $2',
      [entries, '2020-01-01T00:00:00.000000Z'],
    )
    await fillLog(client, entries)
    await client.query('vacuum analyze evidence_entries')
  })
}

/** The last tile of each level, so that the log can grow from there. */
async function fillLog(client: pg.Client, size: number): Promise<void> {
  await client.query('delete from evidence_log_tiles')
  await client.query('delete from evidence_log_checkpoints')
  await client.query("insert into evidence_log_checkpoints values ($1, '', '')", [size])
  for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
    const [tile, width] = [Math.floor(count / TILE_WIDTH), count % TILE_WIDTH]
    if (width > 0)
      await client.query('insert into evidence_log_tiles values ($1, $2, $3)', [
        level,
        tile,
        Buffer.alloc(width * HASH_BYTES),
      ])
  }
}
