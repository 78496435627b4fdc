import { sha256 } from '../canonical/digest.ts'
import { fromBase64, toBase64 } from '../canonical/base64.ts'

/** Bytes of every hash in the log. */
export const HASH_BYTES = 32

/** MTH of one leaf (RFC 6962, 2.1). The prefix keeps a leaf from ever being read as a node. */
export function hashLeaf(leaf: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + leaf.length)
  bytes.set(leaf, 1)
  return sha256(bytes)
}

export function hashChildren(left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + left.length + right.length)
  bytes[0] = 1
  bytes.set(left, 1)
  bytes.set(right, 1 + left.length)
  return sha256(bytes)
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

/** The hash of a complete subtree: 2^level leaves from leaf index × 2^level on. */
export type NodeReader = (level: number, index: number) => Promise<Uint8Array>

/** MTH of the first `size` leaves. The empty tree has the hash of nothing. */
export async function treeRoot(size: number, read: NodeReader): Promise<Uint8Array> {
  return size === 0 ? sha256(new Uint8Array()) : subtreeHash(0, size, read)
}

/** MTH of the leaves from `start` up to `end`, built from complete subtrees (RFC 6962, 2.1). */
async function subtreeHash(start: number, end: number, read: NodeReader): Promise<Uint8Array> {
  const width = end - start
  const level = Math.log2(width)
  if (Number.isInteger(level)) return read(level, start / width)
  const split = start + largestPowerBelow(width)
  return hashChildren(await subtreeHash(start, split, read), await subtreeHash(split, end, read))
}

/** PATH(index, D[size]) of RFC 6962, 2.1.1: what proves that a leaf is in a tree. */
export async function inclusionProof(index: number, size: number, read: NodeReader): Promise<Uint8Array[]> {
  if (index < 0 || index >= size) throw new RangeError('the leaf is not in the tree')
  const path = async (start: number, end: number): Promise<Uint8Array[]> => {
    if (end - start === 1) return []
    const split = start + largestPowerBelow(end - start)
    if (index < split) return [...(await path(start, split)), await subtreeHash(split, end, read)]
    return [...(await path(split, end)), await subtreeHash(start, split, read)]
  }
  return path(0, size)
}

/** PROOF(older, D[newer]) of RFC 6962, 2.1.2: what proves that the newer tree only added to the older one. */
export async function consistencyProof(older: number, newer: number, read: NodeReader): Promise<Uint8Array[]> {
  if (older < 0 || older > newer) throw new RangeError('an older tree is not larger')
  if (older === 0 || older === newer) return []
  const proof = async (start: number, end: number, isWhole: boolean): Promise<Uint8Array[]> => {
    if (older === end) return isWhole ? [] : [await subtreeHash(start, end, read)]
    const split = start + largestPowerBelow(end - start)
    if (older <= split) return [...(await proof(start, split, isWhole)), await subtreeHash(split, end, read)]
    return [...(await proof(split, end, false)), await subtreeHash(start, split, read)]
  }
  return proof(0, newer, true)
}

/** The largest power of two below a width of at least two. */
function largestPowerBelow(width: number): number {
  let power = 1
  while (power * 2 < width) power *= 2
  return power
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
const MAX_HASHES = 64
/** Longest text that is read. The extra data is an envelope of at most 64 KiB. */
const MAX_LENGTH = 256 * 1024

/** A proof that an entry is in a log, which is verified without a call (C2SP tlog-proof). */
export interface TlogProof {
  /** Not signed: for Chancery the envelope of the entry, whose digest is the leaf. */
  readonly extra: Uint8Array | undefined
  readonly index: number
  readonly proof: readonly Uint8Array[]
  /** The signed note, with cosignatures. */
  readonly checkpoint: string
}

export function writeTlogProof({ extra, index, proof, checkpoint }: TlogProof): string {
  const lines = [
    FIRST_LINE,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${index}`,
    ...proof.map((hash) => toBase64(hash)),
  ]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Undefined for any other text. */
export function readTlogProof(text: string): TlogProof | undefined {
  const end = text.indexOf('\n\n')
  if (end < 0 || text.length > MAX_LENGTH) return undefined
  const lines = text.slice(0, end).split('\n')
  if (lines.shift() !== FIRST_LINE) return undefined
  const hasExtra = lines[0]?.startsWith('extra ') === true
  const extra = hasExtra ? fromBase64(lines.shift()?.slice('extra '.length) ?? '') : undefined
  const [, index] = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '') ?? []
  if (index === undefined || (hasExtra && extra === undefined) || lines.length > MAX_HASHES) return undefined
  const proof = lines.flatMap((line) => fromBase64(line) ?? [])
  if (proof.length !== lines.length || proof.some((hash) => hash.length !== HASH_BYTES)) return undefined
  return { extra, index: Number(index), proof, checkpoint: text.slice(end + 2) }
}

/** The place of a leaf in a tree, and the path from it to the root. */
export interface InclusionFacts {
  readonly index: number
  readonly size: number
  readonly leafHash: Uint8Array
  readonly proof: readonly Uint8Array[]
}

/** True when the path leads from this leaf hash at this place to this root (RFC 9162, 2.1.3.2). */
export function verifyInclusion({ root, ...facts }: InclusionFacts & { readonly root: Uint8Array }): boolean {
  const found = inclusionRoot(facts)
  return found !== undefined && sameBytes(found, root)
}

/** The root that the path leads to; undefined when the path has another length than the place needs. */
export function inclusionRoot(facts: InclusionFacts): Uint8Array | undefined {
  if (facts.index < 0 || facts.index >= facts.size) return undefined
  let [index, last] = [facts.index, facts.size - 1]
  let hash = facts.leafHash
  for (const sibling of facts.proof) {
    if (last === 0) return undefined
    if (isOdd(index) || index === last) {
      hash = hashChildren(sibling, hash)
      while (!isOdd(index) && index !== 0) [index, last] = [half(index), half(last)]
    } else hash = hashChildren(hash, sibling)
    ;[index, last] = [half(index), half(last)]
  }
  return last === 0 ? hash : undefined
}

/** True when the newer tree begins with every leaf of the older one (RFC 9162, 2.1.4.2). */
export function verifyConsistency(facts: {
  readonly older: number
  readonly newer: number
  readonly olderRoot: Uint8Array
  readonly newerRoot: Uint8Array
  readonly proof: readonly Uint8Array[]
}): boolean {
  const { older, newer, olderRoot, newerRoot, proof } = facts
  if (older < 0 || older > newer) return false
  if (older === newer) return proof.length === 0 && sameBytes(olderRoot, newerRoot)
  // Every tree begins with the empty one; its root is known without a proof.
  if (older === 0) return proof.length === 0 && sameBytes(olderRoot, sha256(new Uint8Array()))
  const path = isPowerOfTwo(older) ? [olderRoot, ...proof] : [...proof]
  const first = path.shift()
  if (first === undefined) return false
  let [index, last] = [older - 1, newer - 1]
  while (isOdd(index)) [index, last] = [half(index), half(last)]
  let [before, after] = [first, first]
  for (const sibling of path) {
    if (last === 0) return false
    if (isOdd(index) || index === last) {
      before = hashChildren(sibling, before)
      after = hashChildren(sibling, after)
      while (!isOdd(index) && index !== 0) [index, last] = [half(index), half(last)]
    } else after = hashChildren(after, sibling)
    ;[index, last] = [half(index), half(last)]
  }
  return last === 0 && sameBytes(before, olderRoot) && sameBytes(after, newerRoot)
}

// Sizes go beyond 32 bits, where bit operators would cut them.
function isOdd(value: number): boolean {
  return value % 2 === 1
}

function half(value: number): number {
  return Math.floor(value / 2)
}

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(Math.log2(value))
}
