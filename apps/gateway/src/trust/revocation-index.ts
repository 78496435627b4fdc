import { randomInt } from 'node:crypto'
import type { KnownRevocation, RevocationIndex, ScannedEntry } from '@chancery/protocol'

/** One revocation to be indexed. */
export interface IndexEntry extends KnownRevocation {
  readonly certificate_id: string
}

/**
 * Revocations of one issuer in shared memory: built by one thread, read by all, handed over without copying. An open
 * hash table over the bytes of the ids, so that a look-up costs the same for ten and for a million entries.
 */
export interface SharedIndex {
  /** Entry number plus one by hash; 0 is free. The length is a power of two, at least twice the entries. */
  readonly slots: Uint32Array
  /** Four numbers per entry: offset, bytes of the id, bytes of the reason, bytes of the time doubled plus withdrawn. */
  readonly entries: Uint32Array
  readonly bytes: Uint8Array
  /** How many entries the list itself names; the others were withdrawn. */
  readonly listed: number
  readonly count: number
  /** Drawn for each index: nobody can choose ids that all fall into one slot. */
  readonly seed: number
}

const PER_ENTRY = 4

/** The texts of one revocation as bytes: a list of hundreds of thousands is indexed without making a string of any. */
export interface IndexRow extends ScannedEntry {
  readonly withdrawn: boolean
}

/** Of entries with one id the first wins (protocol/gateway 2.6). */
export function buildIndex(entries: Iterable<IndexEntry>, seed?: number): SharedIndex {
  const rows = Array.from(entries, (entry) => ({
    id: Buffer.from(entry.certificate_id),
    reason: Buffer.from(entry.reason),
    revokedAt: Buffer.from(entry.revoked_at),
    withdrawn: entry.withdrawn,
  }))
  return indexRows(() => rows, seed)
}

/** `rows` is walked twice, for the size and for the texts, so that nothing is held between. */
export function indexRows(rows: () => Iterable<IndexRow>, seed: number = randomInt(2 ** 32)): SharedIndex {
  let [total, size] = [0, 0]
  for (const { id, reason, revokedAt } of rows()) {
    total += 1
    size += id.length + reason.length + revokedAt.length
  }
  const index = {
    slots: new Uint32Array(new SharedArrayBuffer(4 * slotCount(total))),
    entries: new Uint32Array(new SharedArrayBuffer(4 * PER_ENTRY * total)),
    bytes: new Uint8Array(new SharedArrayBuffer(size)),
    seed,
  }
  let [count, listed, offset] = [0, 0, 0]
  for (const { id, reason, revokedAt, withdrawn } of rows()) {
    const slot = freeSlot(index, id)
    if (slot === undefined) continue
    index.slots[slot] = count + 1
    index.entries.set([offset, id.length, reason.length, revokedAt.length * 2 + (withdrawn ? 1 : 0)], count * PER_ENTRY)
    for (const text of [id, reason, revokedAt]) {
      index.bytes.set(text, offset)
      offset += text.length
    }
    count += 1
    if (!withdrawn) listed += 1
  }
  return { ...index, count, listed }
}

function slotCount(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(8, count * 2)))
}

/** Where this id would stand; undefined when it stands somewhere already. */
function freeSlot(index: Omit<SharedIndex, 'count' | 'listed'>, id: Uint8Array): number | undefined {
  const mask = index.slots.length - 1
  for (let slot = hash(id, index.seed) & mask; ; slot = (slot + 1) & mask) {
    const number = (index.slots[slot] ?? 0) - 1
    if (number < 0) return slot
    if (isEntryOf(index, number, id)) return undefined
  }
}

function isEntryOf(
  { entries, bytes }: Pick<SharedIndex, 'entries' | 'bytes'>,
  number: number,
  id: Uint8Array,
): boolean {
  const [at = 0, length = 0] = [entries[number * PER_ENTRY], entries[number * PER_ENTRY + 1]]
  return length === id.length && isEqual(bytes, at, id)
}

/** Whether it names this id, in whatever way. */
export function hasId(index: SharedIndex, id: Uint8Array): boolean {
  return freeSlot(index, id) === undefined
}

/** FNV-1a with a seed and a final mix; only spreads, proves nothing. */
function hash(bytes: Uint8Array, seed: number): number {
  let value = (2_166_136_261 ^ seed) >>> 0
  for (const byte of bytes) value = Math.imul(value ^ byte, 16_777_619)
  value ^= value >>> 15
  value = Math.imul(value, 2_246_822_507)
  return (value ^ (value >>> 13)) >>> 0
}

/** What the evaluation asks; cheap to make, so every thread makes its own over the same memory. */
export function readIndex(index: SharedIndex): RevocationIndex {
  return { find: (certificateId) => find(index, Buffer.from(certificateId)) }
}

function find(index: SharedIndex, id: Uint8Array): KnownRevocation | undefined {
  const mask = index.slots.length - 1
  for (let slot = hash(id, index.seed) & mask; ; slot = (slot + 1) & mask) {
    const number = (index.slots[slot] ?? 0) - 1
    if (number < 0) return undefined
    if (!isEntryOf(index, number, id)) continue
    const { certificate_id: _id, ...known } = entryAt(index, number)
    return known
  }
}

function isEqual(bytes: Uint8Array, offset: number, id: Uint8Array): boolean {
  for (let i = 0; i < id.length; i += 1) if (bytes[offset + i] !== id[i]) return false
  return true
}

/** Every entry. */
export function* indexEntries(index: SharedIndex): Generator<IndexEntry> {
  for (let number = 0; number < index.count; number += 1) yield entryAt(index, number)
}

/** Every entry as bytes, for building the next index from this one. */
export function* rowsOfIndex({ entries, bytes, count }: SharedIndex): Generator<IndexRow> {
  for (let number = 0; number < count; number += 1) {
    const at = number * PER_ENTRY
    const [offset = 0, id = 0, reason = 0, time = 0] = entries.subarray(at, at + PER_ENTRY)
    const [reasonAt, timeAt] = [offset + id, offset + id + reason]
    yield {
      id: bytes.subarray(offset, reasonAt),
      reason: bytes.subarray(reasonAt, timeAt),
      revokedAt: bytes.subarray(timeAt, timeAt + (time >> 1)),
      withdrawn: (time & 1) === 1,
    }
  }
}

function entryAt(index: SharedIndex, number: number): IndexEntry {
  const at = number * PER_ENTRY
  const [offset = 0, id = 0, reason = 0, time = 0] = index.entries.subarray(at, at + PER_ENTRY)
  // Copied before decoding: decoders do not take shared memory.
  const text = (start: number, length: number): string =>
    Buffer.from(index.bytes.slice(offset + start, offset + start + length)).toString('utf8')
  return {
    certificate_id: text(0, id),
    reason: text(id, reason),
    revoked_at: text(id + reason, time >> 1),
    withdrawn: (time & 1) === 1,
  }
}
