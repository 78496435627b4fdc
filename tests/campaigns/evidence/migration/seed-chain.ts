import { randomUUID } from 'node:crypto'
import { type ChainedEntry, type EntrySubject, type ReadEvent, chainEntry, readEventLine } from '@chancery/protocol'
import type pg from 'pg'

const BATCH = 3000

/** A line of a real store. Copies of it get other ids. */
interface Model {
  readonly subject: EntrySubject
  readonly payload: string
  readonly recordedAt: string
}

/**
 * Appends copies of the entries of one decision to a store that no authority uses, up to a number of entries. Digests
 * and links are valid. Signatures are those of the first decision, so they verify only there.
 */
export async function seedChain(
  client: pg.Client,
  lines: readonly string[],
  entries: number,
  log: (line: string) => void,
): Promise<void> {
  const models = lines.map(toModel)
  const ids = [...new Set(models.flatMap(({ subject }) => [subject.decision_id, subject.evidence_id]))].filter(
    (id) => id !== null,
  )
  const last = readEventLine(lines.at(-1) ?? '')
  if (last === undefined) throw new Error('the store has no entry')
  let head = { store_sequence: last.entry.store_sequence, entry_digest: last.entryDigest }
  // Built at once over all rows, not row by row.
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    "select indexname as name, indexdef as definition from pg_indexes where tablename = 'evidence_entries' and indexname not like '%key'",
  )
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  await client.query('set synchronous_commit = off')
  let batch: ChainedEntry[] = []
  let writing: Promise<unknown> = Promise.resolve()
  const write = async (): Promise<void> => {
    // Entries are made while the database still writes the ones before.
    await writing
    writing = client.query(insertion(batch))
    batch = []
  }
  while (head.store_sequence < entries) {
    const renamed = ids.map((id) => [id, randomUUID()] as const)
    for (const model of models) {
      const { entry, entry_digest, line } = copyOf(model, renamed, head)
      head = { store_sequence: entry.store_sequence, entry_digest }
      batch.push({ entry, entry_digest, line })
    }
    if (batch.length >= BATCH) await write()
    if (head.store_sequence % 300_000 < models.length) log(`${head.store_sequence} entries made`)
  }
  await write()
  await writing
  await client.query("set maintenance_work_mem = '512MB'")
  for (const { definition } of indexes) await client.query(definition)
  await client.query('update evidence_head set last_sequence = $1, last_digest = $2', [
    head.store_sequence,
    head.entry_digest,
  ])
  await client.query('analyze evidence_entries')
}

function toModel(line: string): Model {
  const event: ReadEvent | undefined = readEventLine(line)
  if (event === undefined) throw new Error('a line is not an entry')
  const { store_sequence: _s, recorded_at, payload_digest: _p, prev_entry_digest: _d, ...subject } = event.entry
  const start = line.indexOf('"payload":') + '"payload":'.length
  return { subject, payload: line.slice(start, line.lastIndexOf(',"schema":')), recordedAt: recorded_at }
}

function copyOf(
  { subject, payload, recordedAt }: Model,
  renamed: readonly (readonly [string, string])[],
  head: Parameters<typeof chainEntry>[0],
): ReturnType<typeof chainEntry> {
  const rename = (id: string | null): string | null => renamed.find(([from]) => from === id)?.[1] ?? id
  const text = renamed.reduce((copy, [from, to]) => copy.replaceAll(from, to), payload)
  const named = { ...subject, decision_id: rename(subject.decision_id), evidence_id: rename(subject.evidence_id) }
  return chainEntry(head, named, text, recordedAt)
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
] as const

function insertion(batch: readonly ChainedEntry[]): pg.QueryConfig {
  const names = [...COLUMNS.map(([name]) => name), 'entry_digest', 'line']
  const types = COLUMNS.map(([, type], at) => `$${at + 1}::${type}[]`)
  return {
    text:
      `insert into evidence_entries (${names.join(', ')}) select * from unnest(${types.join(', ')}, ` +
      `$${COLUMNS.length + 1}::text[], string_to_array($${COLUMNS.length + 2}, E'\\n'))`,
    values: [
      ...COLUMNS.map(([name]) => batch.map(({ entry }) => entry[name])),
      batch.map((each) => each.entry_digest),
      batch.map((each) => each.line).join('\n'),
    ],
  }
}
