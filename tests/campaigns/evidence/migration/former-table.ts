import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

const LOCK_NOT_AVAILABLE = '55P03'

/** What the partitioned table of a store becomes: the table of the release before. All entries are in one partition. */
const BACK = [
  'lock table evidence_entries in access exclusive mode',
  'alter table evidence_entries detach partition evidence_entries_0',
  'drop table evidence_entries',
  'drop trigger if exists evidence_entries_fixed on evidence_entries_0',
  'alter table evidence_entries_0 rename to evidence_entries',
  'create trigger evidence_entries_fixed before update or delete on evidence_entries for each row execute function evidence_entries_guard()',
] as const

/** Makes the table of the release before out of the partitioned one, also while instances serve. */
export async function restoreFormerTable(client: pg.Client): Promise<void> {
  for (;;) {
    try {
      await client.query('begin')
      await client.query('lock table evidence_entries in share update exclusive mode')
      // In one message, as the change itself: the watch sees this lock, too.
      await client.query(["set local lock_timeout = '100ms'", ...BACK, 'commit'].join('; '))
      return
    } catch (error) {
      await client.query('rollback')
      if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error
    }
    await pause(200)
  }
}

/** The schema of the release before. */
export async function restoreFormerSchema(client: pg.Client): Promise<void> {
  await restoreFormerTable(client)
  await client.query('drop function evidence_entries_unique()')
  await client.query('delete from schema_version where version >= 47')
}

export async function isPartitioned(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ kind: string }>(
    "select relkind::text as kind from pg_class where oid = 'evidence_entries'::regclass",
  )
  return rows[0]?.kind === 'p'
}

/** A digest of the entries up to one, whether each names the digest of the one before it, and their number. */
export interface StoreFacts {
  readonly digest: string
  readonly entries: number
  readonly broken: number
}

export async function readFacts(client: pg.Client, through: number): Promise<StoreFacts> {
  await client.query('set statement_timeout = 0')
  const { rows } = await client.query<{ digest: string; entries: string; broken: string }>(
    `select md5(string_agg(digest || md5(line), '' order by at)) as digest, count(*) as entries,
      count(*) filter (where previous is distinct from named or (previous is null and at > 1)) as broken
    from (select store_sequence as at, entry_digest as digest, line,
        lag(entry_digest) over (order by store_sequence) as previous,
        line::json -> 'entry' ->> 'prev_entry_digest' as named
      from evidence_entries where store_sequence <= $1) as chained`,
    [through],
  )
  const { digest = '', entries = '0', broken = '0' } = rows[0] ?? {}
  return { digest, entries: Number(entries), broken: Number(broken) }
}
