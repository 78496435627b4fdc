import type pg from 'pg'
import { withClient } from '../lib/databases.ts'
import type { EvidenceLines, MadeEntry } from './lines.ts'

const BATCH = 600

/** Adds entries after the head of a store that has no other writer at this time. */
export async function appendEntries(client: pg.Client, entries: readonly MadeEntry[]): Promise<void> {
  const last = entries.at(-1)
  if (last === undefined) return
  await client.query('begin')
  await client.query('select id from evidence_head for update')
  for (let at = 0; at < entries.length; at += BATCH) await client.query(insertion(entries.slice(at, at + BATCH)))
  await moveHead(client, last)
  await client.query('commit')
}

async function moveHead(client: pg.Client, last: MadeEntry): Promise<void> {
  const { store_sequence, recorded_at } = last.entry
  await client.query('update evidence_head set last_sequence = $1, last_digest = $2, last_recorded_at = $3', [
    store_sequence,
    last.entry_digest,
    recorded_at,
  ])
}

/**
 * Fills the store of a stopped authority with a valid chain, much faster than through its routes. The public log is
 * marked as complete, because these benchmarks do not measure it.
 */
export async function seedEvidence(
  url: string,
  lines: EvidenceLines,
  count: number,
  progress: (line: string) => void,
): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('set synchronous_commit = off')
    let writing: Promise<unknown> = Promise.resolve()
    let last: MadeEntry | undefined
    for (let made = 0; made < count; made += BATCH) {
      const batch: MadeEntry[] = []
      while (batch.length < Math.min(BATCH, count - made)) batch.push(...(await lines.nextThree()))
      last = batch.at(-1)
      // Generated while the database still writes the last batch.
      await writing
      writing = client.query(insertion(batch))
      if (made % 60_000 === 0 && made > 0) progress(`${made} entries made`)
    }
    await writing
    if (last !== undefined) {
      await moveHead(client, last)
      await client.query('delete from evidence_log_checkpoints')
      await client.query("insert into evidence_log_checkpoints values ($1, '', '')", [last.entry.store_sequence])
      await countAsDescribed(client)
    }
    await client.query('vacuum analyze evidence_entries')
  })
}

/** Entries of the product come with their facts. These do not, and a job would describe them during the measurement. */
export async function countAsDescribed(client: pg.Client): Promise<void> {
  await client.query('update decision_facts_head set described_through = (select last_sequence from evidence_head)')
}

const COLUMNS = [
  ['store_sequence', 'bigint'],
  ['entry_kind', 'text'],
  ['recorded_at', 'text'],
  ['decision_id', 'text'],
  ['vendor_id', 'text'],
  ['attestation_id', 'text'],
  ['capability', 'text'],
  ['outcome', 'text'],
  ['evidence_id', 'text'],
  ['exec_sequence_no', 'bigint'],
  ['resource_id', 'text'],
  ['resource_sequence', 'bigint'],
] as const

function insertion(batch: readonly MadeEntry[]): pg.QueryConfig {
  const own = COLUMNS.map(([name]) => batch.map(({ entry }) => entry[name]))
  const names = [...COLUMNS.map(([name]) => name), 'entry_digest', 'record_digest', 'line']
  const types = COLUMNS.map(([, type], at) => `$${at + 1}::${type}[]`)
  const next = COLUMNS.length
  return {
    name: 'seed-evidence',
    text:
      `insert into evidence_entries (${names.join(', ')}) select * from unnest(${types.join(', ')}, ` +
      `$${next + 1}::text[], $${next + 2}::text[], string_to_array($${next + 3}, E'\\n'))`,
    values: [
      ...own,
      batch.map((each) => each.entry_digest),
      batch.map((each) => each.record_digest),
      batch.map((each) => each.line).join('\n'),
    ],
  }
}
