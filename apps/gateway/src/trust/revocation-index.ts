import { randomInt } from 'node:crypto'
import type { KnownRevocation, RevocationIndex } from '@chancery/protocol'

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

/** Of entries with one id the first wins (protocol/gateway 2.6). */
export function buildIndex(entries: Iterable<IndexEntry>, seed: number = randomInt(2 ** 32)): SharedIndex {
  const first = new Map<string, IndexEntry>()
  for (const entry of entries) if (!first.has(entry.certificate_id)) first.set(entry.certificate_id, entry)
  const texts = [...first.values()].map((entry) => ({
    id: Buffer.from(entry.certificate_id),
    reason: Buffer.from(entry.reason),
    time: Buffer.from(entry.revoked_at),
    withdrawn: entry.withdrawn,
  }))
  const size = texts.reduce((sum, { id, reason, time }) => sum + id.length + reason.length + time.length, 0)
  const index = {
    slots: new Uint32Array(new SharedArrayBuffer(4 * slotCount(texts.length))),
    entries: new Uint32Array(new SharedArrayBuffer(4 * PER_ENTRY * texts.length)),
    bytes: new Uint8Array(new SharedArrayBuffer(size)),
    listed: texts.filter(({ withdrawn }) => !withdrawn).length,
    count: texts.length,
    seed,
  }
  let offset = 0
  for (const [number, { id, reason, time, withdrawn }] of texts.entries()) {
    const row = [offset, id.length, reason.length, time.length * 2 + (withdrawn ? 1 : 0)]
    index.entries.set(row, number * PER_ENTRY)
    for (const text of [id, reason, time]) {
      index.bytes.set(text, offset)
      offset += text.length
    }
    place(index, id, number)
  }
  return index
}

function slotCount(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(8, count * 2)))
}

function place(index: SharedIndex, id: Uint8Array, number: number): void {
  const mask = index.slots.length - 1
  let slot = hash(id, index.seed) & mask
  while (index.slots[slot] !== 0) slot = (slot + 1) & mask
  index.slots[slot] = number + 1
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
    const [offset = 0, length = 0] = index.entries.subarray(number * PER_ENTRY, number * PER_ENTRY + 2)
    if (length !== id.length || !isEqual(index.bytes, offset, id)) continue
    const { certificate_id: _id, ...known } = entryAt(index, number)
    return known
  }
}

function isEqual(bytes: Uint8Array, offset: number, id: Uint8Array): boolean {
  for (let i = 0; i < id.length; i += 1) if (bytes[offset + i] !== id[i]) return false
  return true
}

/** Every entry, for building the next index from this one. */
export function* indexEntries(index: SharedIndex): Generator<IndexEntry> {
  for (let number = 0; number < index.count; number += 1) yield entryAt(index, number)
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
