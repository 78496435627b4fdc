import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { ReadTargets } from './steady-load.ts'

const LOCK_NOT_AVAILABLE = '55P03'

/** What requests to the instances have caused, which must be stored at the end. */
export interface Acknowledged {
  readonly decisions: readonly string[]
  readonly executions: readonly string[]
}

/** Tables that a job partitions. */
export interface ChangedTables {
  /** The job, whose lease the campaign has, so that only its own processes change the tables. */
  readonly job: string
  readonly names: readonly [string, ...string[]]
  /** Statements that make the tables of the release before out of the partitioned ones. */
  readonly back: readonly string[]
  /** Further statements that restore the schema of the release before. */
  readonly formerSchema: readonly string[]
  /** Paths that the load reads. */
  readonly targets: ReadTargets
  /** Adds rows, up to a number. `lines` are the exported entries of one decision. */
  seed(client: pg.Client, lines: readonly string[], rows: number, log: (line: string) => void): Promise<void>
  /** Reads the rows of before. */
  read(client: pg.Client): Promise<RowFacts>
  /** Compares the rows of now with those of before. Returns what is wrong. */
  compare(client: pg.Client, before: RowFacts, acknowledged: Acknowledged): Promise<readonly string[]>
}

/** The number of rows, where they end, and a digest of them. */
export interface RowFacts {
  readonly rows: number
  readonly last: number
  readonly digest: string
}

/** Makes the tables of the release before out of the partitioned ones, also while instances serve. */
export async function restoreFormerTables(client: pg.Client, { names, back }: ChangedTables): Promise<void> {
  const all = names.join(', ')
  for (;;) {
    try {
      await client.query('begin')
      await client.query(`lock table ${all} in share update exclusive mode`)
      // In one message, as the change itself: the watch sees this lock, too.
      const limit = `set local lock_timeout = ${Math.floor(100 / names.length)}`
      await client.query([limit, `lock table ${all} in access exclusive mode`, ...back, 'commit'].join('; '))
      return
    } catch (error) {
      await client.query('rollback')
      if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error
    }
    await pause(200)
  }
}

/** The schema of the release before, for a small store, which has no partitions. No instance runs. */
export async function restoreFormerSchema(client: pg.Client, tables: ChangedTables): Promise<void> {
  for (const statement of tables.formerSchema) await client.query(statement)
}

export async function isPartitioned(client: pg.Client, { names: [name] }: ChangedTables): Promise<boolean> {
  const { rows } = await client.query<{ kind: string }>(
    'select relkind::text as kind from pg_class where oid = $1::regclass',
    [name],
  )
  return rows[0]?.kind === 'p'
}
