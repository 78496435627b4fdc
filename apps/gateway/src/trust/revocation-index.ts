import { randomInt } from 'node:crypto'
import type { RevocationState, RevocationIndex, ScannedEntry } from '@chancery/protocol'

/** One revocation for the index. */
export interface IndexEntry extends RevocationState {
  readonly certificate_id: string
}

/**
 * Revocations of one issuer in shared memory: built by one thread, read by all, passed without copying. An open hash
 * table over the bytes of the ids, so that a look-up costs as much for a million entries as for ten.
 */
export interface SharedIndex {
  /** Entry number plus one, by hash. 0 is free. The length is a power of two, at least twice the entries. */
  readonly slots: Uint32Array
  /** Four numbers per entry: offset, bytes of the id, bytes of the reason, bytes of the time doubled plus withdrawn. */
  readonly entries: Uint32Array
  readonly bytes: Uint8Array
  /** Number of entries in the list itself. The others are withdrawn. */
  readonly listed: number
  readonly count: number
  /** Random for each index, so that an attacker cannot choose ids with equal hashes. */
  readonly seed: number
}

const PER_ENTRY = 4

/** The texts of one revocation as bytes, so that a large list is indexed without creating strings. */
export interface IndexRow extends ScannedEntry {
  readonly withdrawn: boolean
}

/** Builds an index. Of entries with equal ids the first is used (protocol/gateway 2.6). */
export function buildIndex(entries: Iterable<IndexEntry>, seed?: number): SharedIndex {
  const rows = Array.from(entries, (entry) => ({
    id: Buffer.from(entry.certificate_id),
    reason: Buffer.from(entry.reason),
    revokedAt: Buffer.from(entry.revoked_at),
    withdrawn: entry.withdrawn,
  }))
  return indexRows(() => rows, seed)
}

/**
 * Builds an index from rows. `rows` is read twice, for the size and for the texts, so that nothing is stored in
 * between.
 */
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

/** Returns the free slot for this id, or undefined when the id is present. */
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

/** Returns whether the index has this id. */
export function hasId(index: SharedIndex, id: Uint8Array): boolean {
  return freeSlot(index, id) === undefined
}

/** Returns FNV-1a with a seed and a final mix. It only distributes; it is not a cryptographic hash. */
function hash(bytes: Uint8Array, seed: number): number {
  let value = (2_166_136_261 ^ seed) >>> 0
  for (const byte of bytes) value = Math.imul(value ^ byte, 16_777_619)
  value ^= value >>> 15
  value = Math.imul(value, 2_246_822_507)
  return (value ^ (value >>> 13)) >>> 0
}

/** Returns the look-up for the evaluation. It is cheap, so every thread creates its own over the shared memory. */
export function readIndex(index: SharedIndex): RevocationIndex {
  return { find: (certificateId) => find(index, Buffer.from(certificateId)) }
}

function find(index: SharedIndex, id: Uint8Array): RevocationState | undefined {
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

/** Yields every entry. */
export function* indexEntries(index: SharedIndex): Generator<IndexEntry> {
  for (let number = 0; number < index.count; number += 1) yield entryAt(index, number)
}

/** Yields every entry as bytes, to build the next index. */
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
  // Copied before decoding, because decoders refuse shared memory.
  const text = (start: number, length: number): string =>
    Buffer.from(index.bytes.slice(offset + start, offset + start + length)).toString('utf8')
  return {
    certificate_id: text(0, id),
    reason: text(id, reason),
    revoked_at: text(id + reason, time >> 1),
    withdrawn: (time & 1) === 1,
  }
}
