import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { canonicalJson, sha256Hex } from '@chancery/protocol'

/** The state is missing, damaged or locked. The start stops. State is never created again automatically. */
export class StateError extends Error {
  override readonly name = 'StateError'
}

/** Sums over all data of the state. They are sealed, and written with every change in one transaction. */
export interface StateValues {
  /**
   * Sum of the digests of all fact rows modulo 2^256, in hex: rows are added and removed without reading the others.
   */
  readonly facts: string
  readonly facts_count: number
  /** The oldest stored audit event, and the hash of the event before it. */
  readonly first_sequence: number
  readonly first_prev_hash: string | null
  readonly head_sequence: number
  readonly head_hash: string | null
  readonly pending_count: number
  readonly pending_sum: number
}

export const EMPTY_STATE_VALUES: StateValues = {
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

export function readStateValues(db: DatabaseSync): StateValues {
  const row = db.prepare('select * from ledger').get()
  if (row === undefined) throw new StateError('the state is damaged: its sealed values are missing')
  const { one: _one, seal, ...rest } = row
  const values = { ...rest } as unknown as StateValues
  if (sealOf(values) !== seal) throw new StateError('the state is damaged: the seal of its values is broken')
  return values
}

export function writeStateValues(db: DatabaseSync, values: StateValues): void {
  db.prepare(
    `insert or replace into ledger (one, facts, facts_count, first_sequence, first_prev_hash, head_sequence, head_hash,
      pending_count, pending_sum, seal) values (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    values.facts,
    values.facts_count,
    values.first_sequence,
    values.first_prev_hash,
    values.head_sequence,
    values.head_hash,
    values.pending_count,
    values.pending_sum,
    sealOf(values),
  )
}

function sealOf(values: StateValues): string {
  return sha256Hex(canonicalJson({ ...values }))
}

/** One row of a fact table, as input of the digest. */
export type FactRow = readonly [table: string, ...columns: (string | number)[]]

/** Returns the values with rows added and removed. */
export function changeFacts(values: StateValues, added: Iterable<FactRow>, removed: Iterable<FactRow>): StateValues {
  let sum = BigInt(`0x${values.facts}`)
  let facts_count = values.facts_count
  for (const row of added) {
    sum += digestOfRow(row)
    facts_count += 1
  }
  for (const row of removed) {
    sum -= digestOfRow(row)
    facts_count -= 1
  }
  const facts = (((sum % MODULUS) + MODULUS) % MODULUS).toString(16).padStart(64, '0')
  return { ...values, facts, facts_count }
}

/**
 * Returns SHA-256 over the canonical form of the row. It is written in pieces, because a row may have a list of many
 * megabytes.
 */
export function digestOfRow(row: FactRow): bigint {
  const hash = createHash('sha256')
  for (const [index, column] of row.entries()) {
    hash.update(index === 0 ? '[' : ',')
    for (const piece of writeColumn(column)) hash.update(piece)
  }
  return BigInt(`0x${hash.update(']').digest('hex')}`)
}

const PIECE_CHARACTERS = 1_048_576

function* writeColumn(column: string | number): Generator<string> {
  if (typeof column === 'number' || column.length <= PIECE_CHARACTERS) {
    yield canonicalJson(column)
    return
  }
  yield '"'
  for (let at = 0; at < column.length;) {
    let end = Math.min(at + PIECE_CHARACTERS, column.length)
    // A surrogate pair stays together.
    if (end < column.length && /[\uD800-\uDBFF]/.test(column.charAt(end - 1))) end -= 1
    yield quote(column.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}

/** Signed lists are plain ASCII, which JSON.stringify writes in the canonical form and seven times as fast. */
function quote(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? JSON.stringify(text) : canonicalJson(text)
}
