import { type StoreFinding, readEventLine } from '@chancery/protocol'
import type { TestAuthority } from '@chancery/testkit'
import { type Kysely, sql } from 'kysely'
import { inspectStore } from '../../../apps/authority/src/features/evidence/verify-store.ts'
import type { Tables } from '../../../apps/authority/src/database/tables.ts'
import { editLine, forgeFrom, nextAnchored } from './forging.ts'
import type { Random } from '../lib/random.ts'
import { rowsOf } from '../../../apps/authority/src/testing/rows.suite.ts'

type Query = Kysely<Tables>

/** One way to change the tables, and the positions where an error may be reported for it. */
interface Change {
  readonly way: string
  readonly places: readonly number[]
  readonly apply: (tx: Query) => Promise<unknown>
}

interface RowCase {
  readonly way: string
  readonly places: readonly number[]
  readonly findings: readonly StoreFinding[]
}

/** The tables of one authority without their triggers, as a database owner can change them. */
export class TamperedTables {
  readonly #na: TestAuthority
  readonly #lines: readonly string[]

  private constructor(na: TestAuthority, lines: readonly string[]) {
    this.#na = na
    this.#lines = lines
  }

  static async open(na: TestAuthority, lines: readonly string[]): Promise<TamperedTables> {
    const { database } = na.core
    const off =
      database.engine === 'postgres'
        ? ['alter table evidence_entries disable trigger user']
        : ['drop trigger evidence_entries_fixed', 'drop trigger evidence_entries_kept']
    for (const statement of off) await sql.raw(statement).execute(rowsOf(database))
    return new TamperedTables(na, lines)
  }

  /** Changes the tables, lets the authority verify its store, and undoes the change. */
  async tryOne(random: Random): Promise<RowCase> {
    const { database, signing, network } = this.#na.core
    const { way, places, apply } = chooseChange(this.#lines, random)
    let findings: readonly StoreFinding[] = []
    const undo = new Error('undo')
    await database
      .write(async (tx) => {
        await apply(tx.query)
        const identity = { publicKeys: [signing.publicKey], sovereign: network.name }
        const { failures } = await inspectStore(tx.query, identity)
        findings = failures as unknown as readonly StoreFinding[]
        throw undo
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error
      })
    return { way: `rows: ${way} (${database.engine})`, places, findings }
  }
}

function chooseChange(lines: readonly string[], random: Random): Change {
  const at = random.below(lines.length)
  const sequence = at + 1
  switch (random.below(11)) {
    case 0:
      return {
        way: 'delete',
        places: [at === lines.length - 1 ? sequence : sequence + 1],
        apply: removal(sequence, sequence),
      }
    case 1:
      return { way: 'truncate', places: [sequence], apply: removal(sequence, lines.length) }
    case 2:
      return truncatedWithHead(lines, at)
    case 3:
      return exchangedLines(lines, at, random)
    case 4:
      return exchangedRows(lines, at, random)
    case 5:
      return forgedRows(lines, at)
    case 6:
      return changedHead(lines, random)
    case 7:
      return strayRow(lines, random)
    case 8:
      return changedAnchor(random)
    case 9:
      return changedColumn(at, random)
    default: {
      const line = editLine(lines[at] ?? '', random)
      const claimed = readEventLine(line)?.entry.store_sequence
      return {
        way: 'edit a line',
        places: [sequence, ...(claimed === undefined ? [] : [claimed])],
        apply: setLine(sequence, line),
      }
    }
  }
}

const removal =
  (from: number, to: number) =>
  (tx: Query): Promise<unknown> =>
    tx.deleteFrom('evidence_entries').where('store_sequence', '>=', from).where('store_sequence', '<=', to).execute()

const setLine =
  (sequence: number, line: string) =>
  (tx: Query): Promise<unknown> =>
    tx.updateTable('evidence_entries').set({ line }).where('store_sequence', '=', sequence).execute()

const setHead = (tx: Query, last_sequence: number, last_digest: string | null): Promise<unknown> =>
  tx.updateTable('evidence_head').set({ last_sequence, last_digest }).execute()

const digestOf = (line: string | undefined): string | null => readEventLine(line ?? '')?.entryDigest ?? null

/** The head agrees, so only an anchor shows that entries are missing. */
function truncatedWithHead(lines: readonly string[], at: number): Change {
  return {
    way: 'truncate with the head',
    places: [nextAnchored(at)],
    apply: async (tx) => {
      await removal(at + 1, lines.length)(tx)
      await setHead(tx, at, at === 0 ? null : digestOf(lines[at - 1]))
    },
  }
}

function pickTwo(lines: readonly string[], at: number, random: Random): [number, number] {
  const other = (at + 1 + random.below(lines.length - 1)) % lines.length
  return [Math.min(at, other), Math.max(at, other)]
}

function exchangedLines(lines: readonly string[], at: number, random: Random): Change {
  const [first, second] = pickTwo(lines, at, random)
  return {
    way: 'exchange lines',
    places: [first + 1, second + 1],
    apply: async (tx) => {
      await setLine(first + 1, lines[second] ?? '')(tx)
      await setLine(second + 1, lines[first] ?? '')(tx)
    },
  }
}

function exchangedRows(lines: readonly string[], at: number, random: Random): Change {
  const [first, second] = pickTwo(lines, at, random)
  const move = (tx: Query, from: number, to: number): Promise<unknown> =>
    tx.updateTable('evidence_entries').set({ store_sequence: to }).where('store_sequence', '=', from).execute()
  return {
    way: 'exchange rows',
    places: [first + 1, second + 1],
    apply: async (tx) => {
      await move(tx, first + 1, 1_000_000)
      await move(tx, second + 1, first + 1)
      await move(tx, 1_000_000, second + 1)
    },
  }
}

/**
 * Computes everything after a position again, columns and head included. The signature of the changed record is
 * invalid.
 */
function forgedRows(lines: readonly string[], at: number): Change {
  const shown = forgeFrom(lines, at)
  return {
    way: 'recompute',
    places: [at + 1],
    apply: async (tx) => {
      for (const [index, line] of shown.entries()) {
        if (index < at) continue
        const { entryDigest, entry } = readEventLine(line) ?? { entryDigest: '', entry: { outcome: null } }
        await tx
          .updateTable('evidence_entries')
          .set({ line, entry_digest: entryDigest, outcome: entry.outcome })
          .where('store_sequence', '=', index + 1)
          .execute()
      }
      await setHead(tx, shown.length, digestOf(shown.at(-1)))
    },
  }
}

function changedHead(lines: readonly string[], random: Random): Change {
  const end = lines.length
  return random.pick<Change>([
    { way: 'change the digest of the head', places: [end], apply: (tx) => setHead(tx, end, 'f'.repeat(64)) },
    { way: 'move the head on', places: [end + 1], apply: (tx) => setHead(tx, end + 1, digestOf(lines[end - 1])) },
    {
      way: 'move the head back',
      places: [end - 1, end],
      apply: (tx) => setHead(tx, end - 1, digestOf(lines[end - (random.chance(50) ? 1 : 2)])),
    },
  ])
}

/** Adds a row that was never appended, with or without the head. */
function strayRow(lines: readonly string[], random: Random): Change {
  const end = lines.length
  const isKnown = random.chance(50)
  const line = lines[random.below(end)] ?? ''
  return {
    way: 'add a row',
    // The line has the sequence of the line it was copied from.
    places: [end + 1, readEventLine(line)?.entry.store_sequence ?? 0],
    apply: async (tx) => {
      const row = {
        store_sequence: end + 1,
        entry_kind: 'other',
        recorded_at: '',
        entry_digest: digestOf(line) ?? '',
        line,
      }
      await tx
        .insertInto('evidence_entries')
        .values({ ...NO_NAMES, ...row })
        .execute()
      if (isKnown) await setHead(tx, end + 1, digestOf(line))
    },
  }
}

const NO_NAMES = {
  decision_id: null,
  vendor_id: null,
  attestation_id: null,
  capability: null,
  outcome: null,
  evidence_id: null,
  exec_sequence_no: null,
  resource_id: null,
  resource_sequence: null,
  record_digest: null,
}

/** Anchors are at 3, 9 and 15; without the second one the third has no predecessor. */
function changedAnchor(random: Random): Change {
  const anchors = sql.table('evidence_anchors')
  return random.pick<Change>([
    {
      way: 'remove an anchor',
      places: [15],
      apply: (tx) => sql`delete from ${anchors} where anchor_sequence = 2`.execute(tx),
    },
    {
      way: 'change an anchor',
      places: [9],
      apply: (tx) =>
        sql`update ${anchors} set anchor_json = replace(anchor_json, ${'"entry_digest":"'}, ${'"entry_digest":"0'}) where anchor_sequence = 2`.execute(
          tx,
        ),
    },
    {
      way: 'damage an anchor',
      places: [9],
      apply: (tx) => sql`update ${anchors} set anchor_json = 'x' where anchor_sequence = 2`.execute(tx),
    },
  ])
}

const TEXTS = [
  'entry_kind',
  'recorded_at',
  'entry_digest',
  'decision_id',
  'vendor_id',
  'attestation_id',
  'capability',
  'outcome',
  'evidence_id',
  'resource_id',
  'record_digest',
] as const
const NUMBERS = ['exec_sequence_no', 'resource_sequence'] as const

function changedColumn(at: number, random: Random): Change {
  const isNumber = random.chance(20)
  const name = isNumber ? random.pick(NUMBERS) : random.pick(TEXTS)
  const value = isNumber ? 1000 + random.below(1000) : `x${random.next()}`
  return {
    way: `change ${name}`,
    places: [at + 1],
    apply: (tx) =>
      sql`update evidence_entries set ${sql.ref(name)} = ${value} where store_sequence = ${at + 1}`.execute(tx),
  }
}
