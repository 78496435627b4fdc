import type pg from 'pg'
import { fillLog } from '../../../../bench/evidence/filler.ts'
import { AUDIT_COLUMNS_AWAY } from './audit-tables.ts'
import type { Acknowledged, ChangedTables, RowFacts } from './changed-tables.ts'
import { seedChain } from './seed-chain.ts'

/** Evidence entries: a valid chain. All are in one partition. */
export const evidenceTables: ChangedTables = {
  job: 'evidence-partitions',
  names: ['evidence_entries'],
  back: [
    'alter table evidence_entries detach partition evidence_entries_0',
    'drop table evidence_entries',
    'drop trigger if exists evidence_entries_fixed on evidence_entries_0',
    'alter table evidence_entries_0 rename to evidence_entries',
    'create trigger evidence_entries_fixed before update or delete on evidence_entries for each row execute function evidence_entries_guard()',
  ],
  // The later migration of audit events goes, too.
  formerSchema: [
    'drop function evidence_entries_unique()',
    ...AUDIT_COLUMNS_AWAY,
    'delete from schema_version where version >= 47',
  ],
  targets: (first) => [
    `/admin/evidence?vendor_id=vendor-1&after_sequence=${first}&limit=20`,
    '/admin/evidence?entry_kind=decision&order=newest&limit=20',
    `/admin/evidence/export?since_sequence=${first}&limit=50`,
    '/admin/evidence/status',
  ],
  /** The log and the facts of the chain are marked as complete. */
  async seed(client, lines, rows, log) {
    await seedChain(client, lines, rows, log)
    await fillLog(client, await readLast(client))
    await client.query('update decision_facts_head set described_through = (select last_sequence from evidence_head)')
  },
  async read(client) {
    const last = await readLast(client)
    const { entries, digest } = await readChain(client, last)
    return { rows: entries, last, digest }
  },
  compare,
}

async function compare(
  client: pg.Client,
  before: RowFacts,
  { decisions, executions }: Acknowledged,
): Promise<readonly string[]> {
  const wrong: string[] = []
  const require = (isGood: boolean, sentence: string): void => {
    if (!isGood) wrong.push(sentence)
  }
  const after = await readChain(client, before.last)
  require(after.digest === before.digest && after.entries === before.rows, 'entries of before differ')
  const last = await readLast(client)
  const whole = await readChain(client, last)
  require(whole.entries === last, `${whole.entries} entries, and the head says ${last}`)
  require(whole.broken === 0, `${whole.broken} entries do not follow the one before them`)
  for (const [kind, ids] of [
    ['decision', decisions],
    ['execution', executions],
  ] as const) {
    const { rows } = await client.query<{ stored: number }>(
      'select count(*)::int as stored from evidence_entries where entry_kind = $1 and decision_id = any($2)',
      [kind, ids],
    )
    require(rows[0]?.stored === ids.length, `${rows[0]?.stored} of ${ids.length} acknowledged ${kind}s are stored`)
  }
  const { rows } = await client.query<{ same: boolean }>(
    'select e.entry_digest = h.last_digest as same from evidence_head h join evidence_entries e on e.store_sequence = h.last_sequence',
  )
  require(rows[0]?.same === true, 'the head has another digest than the last entry')
  return wrong
}

async function readLast(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ last: number }>('select last_sequence::int as last from evidence_head')
  return rows[0]?.last ?? 0
}

/** A digest of the entries up to one, whether each names the digest of the one before it, and their number. */
async function readChain(
  client: pg.Client,
  through: number,
): Promise<{ readonly digest: string; readonly entries: number; readonly broken: number }> {
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
