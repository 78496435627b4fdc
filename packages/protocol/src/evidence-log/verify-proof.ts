import { sha256 } from '../canonical/digest.ts'
import { hashChildren, sameBytes } from './tree.ts'

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
