import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { canonicalJson, sha256Hex } from '@chancery/protocol'
import { StateProblem } from './state-problem.ts'

/** Sums over everything the state holds; sealed, and written with every change in the same transaction. */
export interface Ledger {
  /** Sum of the digests of all fact rows modulo 2^256, in hex: rows come and go without reading the others. */
  readonly facts: string
  readonly facts_count: number
  /** The oldest audit event kept, and the hash the one before it had. */
  readonly first_sequence: number
  readonly first_prev_hash: string | null
  readonly head_sequence: number
  readonly head_hash: string | null
  readonly pending_count: number
  readonly pending_sum: number
}

export const EMPTY_LEDGER: Ledger = {
  facts: '0'.repeat(64),
  facts_count: 0,
  first_sequence: 1,
  first_prev_hash: null,
  head_sequence: 0,
  head_hash: null,
  pending_count: 0,
  pending_sum: 0,
}

const MODULUS = 2n ** 256n

export function readLedger(db: DatabaseSync): Ledger {
  const row = db.prepare('select * from ledger').get()
  if (row === undefined) throw new StateProblem('the state is damaged: its ledger is missing')
  const { one: _one, seal, ...rest } = row
  const ledger = { ...rest } as unknown as Ledger
  if (sealOf(ledger) !== seal) throw new StateProblem('the state is damaged: the seal of its ledger is broken')
  return ledger
}

export function writeLedger(db: DatabaseSync, ledger: Ledger): void {
  db.prepare(
    `insert or replace into ledger (one, facts, facts_count, first_sequence, first_prev_hash, head_sequence, head_hash,
      pending_count, pending_sum, seal) values (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    ledger.facts,
    ledger.facts_count,
    ledger.first_sequence,
    ledger.first_prev_hash,
    ledger.head_sequence,
    ledger.head_hash,
    ledger.pending_count,
    ledger.pending_sum,
    sealOf(ledger),
  )
}

function sealOf(ledger: Ledger): string {
  return sha256Hex(canonicalJson({ ...ledger }))
}

/** One row of a fact table as the digest sees it. */
export type FactRow = readonly [table: string, ...columns: (string | number)[]]

/** The ledger with rows added and others taken away. */
export function changeFacts(ledger: Ledger, added: Iterable<FactRow>, removed: Iterable<FactRow>): Ledger {
  let sum = BigInt(`0x${ledger.facts}`)
  let facts_count = ledger.facts_count
  for (const row of added) {
    sum += digestOfRow(row)
    facts_count += 1
  }
  for (const row of removed) {
    sum -= digestOfRow(row)
    facts_count -= 1
  }
  const facts = (((sum % MODULUS) + MODULUS) % MODULUS).toString(16).padStart(64, '0')
  return { ...ledger, facts, facts_count }
}

/** SHA-256 over the canonical form of the row. Spelled in pieces: a row may hold a list of many megabytes. */
export function digestOfRow(row: FactRow): bigint {
  const hash = createHash('sha256')
  for (const [index, column] of row.entries()) {
    hash.update(index === 0 ? '[' : ',')
    for (const piece of spell(column)) hash.update(piece)
  }
  return BigInt(`0x${hash.update(']').digest('hex')}`)
}

const PIECE_CHARACTERS = 1_048_576

function* spell(column: string | number): Generator<string> {
  if (typeof column === 'number' || column.length <= PIECE_CHARACTERS) {
    yield canonicalJson(column)
    return
  }
  yield '"'
  for (let at = 0; at < column.length;) {
    let end = Math.min(at + PIECE_CHARACTERS, column.length)
    // A character of two units stays whole.
    if (end < column.length && /[\uD800-\uDBFF]/.test(column.charAt(end - 1))) end -= 1
    yield quoted(column.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}

/** Signed lists are plain ASCII, which the platform spells in the same way and seven times as fast. */
function quoted(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? JSON.stringify(text) : canonicalJson(text)
}
