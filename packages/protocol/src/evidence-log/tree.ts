import { sha256 } from '../canonical/digest.ts'

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
