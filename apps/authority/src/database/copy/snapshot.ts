import { open } from 'node:fs/promises'
import type { Instant } from '@chancery/protocol'
import { sql } from 'kysely'
import { type Side, listTables } from './unfinished-copy.ts'
import { copyRows, describeTables } from './copy-rows.ts'
import type { Database, Query } from '../database.ts'
import { migrate, readSchemaVersion } from '../migrate.ts'
import { AUDIT } from '../partitions/audit-partitions.ts'
import { EVIDENCE } from '../partitions/evidence-partitions.ts'
import { copySqliteFile, openSqliteUnsynced } from '../sqlite/open.ts'

/** How far a snapshot is: pages of an SQLite file, or rows of the table named. */
export interface SnapshotProgress {
  readonly table: string
  readonly done: number
  readonly total: number
}

/**
 * Writes one state of a database in use into a new SQLite file, from either engine. The file can be restored into
 * either. It is complete and on disk when this returns, without side files.
 */
export async function snapshotInto(
  source: Database,
  path: string,
  now: () => Instant,
  onProgress: (progress: SnapshotProgress) => void,
): Promise<void> {
  if (source.engine === 'sqlite')
    await copySqliteFile(source.location, path, (done, total) => onProgress({ table: 'pages', done, total }))
  const draft = openSqliteUnsynced(path)
  try {
    if (source.engine === 'postgres')
      await (source.read as Query).connection().execute((connection) => copyAll(connection, draft, now, onProgress))
  } finally {
    await draft.close()
  }
  await syncFile(path)
}

/** Of one moment: changes committed while it runs are not included. No other transaction waits for it. */
async function copyAll(
  connection: Query,
  draft: Database,
  now: () => Instant,
  onProgress: (progress: SnapshotProgress) => void,
): Promise<void> {
  const source: Side = { engine: 'postgres', read: connection }
  const found = await listTables(source)
  const partitioned = [...AUDIT.tables, ...EVIDENCE.tables].filter((table) => found.includes(table))
  await sql`begin isolation level repeatable read read only`.execute(connection)
  try {
    // Before the snapshot: retention drops partitions, and a dropped one is missing in a snapshot of before, too.
    for (const table of partitioned) await sql`lock table ${sql.table(table)} in access share mode`.execute(connection)
    // Large tables are counted from end to end, and a slow disk may keep the connection waiting.
    await sql`set local statement_timeout = 0`.execute(connection)
    await sql`set local idle_in_transaction_session_timeout = '10min'`.execute(connection)
    // The schema it has, not the one this release would give it.
    await migrate(draft, now, { upTo: await readSchemaVersion(connection) })
    for (const table of await describeTables(source, draft)) {
      let done = 0
      await copyRows(source, draft, table, (count) => {
        done += count
        onProgress({ table: table.name, done, total: table.rows })
      })
    }
  } finally {
    await sql`rollback`.execute(connection).catch(() => undefined)
  }
}

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
