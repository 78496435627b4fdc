import { sortCodePoints } from '../canonical/canonical-json.ts'
import { sha256, toHex } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'

/** One step from a leaf to the root: the other half of the pair, and its side. */
export type MerkleStep = {
  readonly sibling_hash: string
  readonly is_left: boolean
}

/** A tree over a list of capabilities (protocol/trust-operations 7.1). */
export interface MerkleTree {
  readonly root: string
  /** From the leaf of this capability to the root; undefined when the tree does not hold it. */
  pathOf(capability: string): readonly MerkleStep[] | undefined
}

/** Fills a level up to a power of two. It is the leaf of the empty text, which therefore must never be proved. */
const PADDING: Uint8Array = /* @__PURE__ */ sha256(new Uint8Array())

/** How two halves become the node above them. */
export type NodeHash = (left: Uint8Array, right: Uint8Array) => Uint8Array

/** The same list in any order gives the same tree. At least one capability is needed. */
export function buildMerkleTree(capabilities: readonly string[]): MerkleTree {
  if (capabilities.length === 0) throw new RangeError('a tree has at least one leaf')
  const sorted = sortCodePoints(capabilities)
  const positions = new Map(sorted.map((capability, index) => [capability, index]))
  const width = 2 ** merklePathLength(sorted.length)
  const leaves = sorted.map((capability) => sha256(toUtf8(capability)))
  const padding = Array<Uint8Array>(width - leaves.length).fill(PADDING)
  return treeOver([...leaves, ...padding], positions, nodeOver)
}

/** A tree over leaves whose number is a power of two. `positions` has the place of each capability. */
export function treeOver(
  leaves: readonly Uint8Array[],
  positions: ReadonlyMap<string, number>,
  hash: NodeHash,
): MerkleTree {
  const levels = levelsOver(leaves, hash)
  return {
    root: toHex(levels.at(-1)?.[0] ?? PADDING),
    pathOf: (capability) => {
      const index = positions.get(capability)
      return index === undefined ? undefined : pathFrom(levels, index)
    },
  }
}

export function merkleLeaf(capability: string): string {
  return toHex(sha256(toUtf8(capability)))
}

/** How many steps a path has in a tree over so many capabilities: 0 for 1, 1 for 2, 2 for 3 and 4. */
export function merklePathLength(count: number): number {
  return count <= 1 ? 0 : BigInt(count - 1).toString(2).length
}

/** The root a path leads to from a leaf; both in hexadecimal digits that have passed their reader. */
export function merkleRootOf(leaf: string, path: readonly MerkleStep[], hash: NodeHash = nodeOver): string {
  let at = fromHex(leaf)
  for (const { sibling_hash, is_left } of path) {
    const sibling = fromHex(sibling_hash)
    at = is_left ? hash(sibling, at) : hash(at, sibling)
  }
  return toHex(at)
}

function levelsOver(leaves: readonly Uint8Array[], hash: NodeHash): readonly (readonly Uint8Array[])[] {
  let level = leaves
  const levels = [level]
  while (level.length > 1) {
    const above: Uint8Array[] = []
    for (let at = 0; at < level.length; at += 2) above.push(hash(level[at] as Uint8Array, level[at + 1] as Uint8Array))
    levels.push(above)
    level = above
  }
  return levels
}

function pathFrom(levels: readonly (readonly Uint8Array[])[], leaf: number): readonly MerkleStep[] {
  return levels.slice(0, -1).map((level, height) => {
    const index = leaf >> height
    return { sibling_hash: toHex(level[index ^ 1] as Uint8Array), is_left: index % 2 === 1 }
  })
}

/** No prefix separates a node from a leaf, as peers compute it: the path length must be checked against the count. */
function nodeOver(left: Uint8Array, right: Uint8Array): Uint8Array {
  const pair = new Uint8Array(64)
  pair.set(left)
  pair.set(right, 32)
  return sha256(pair)
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(text.slice(at * 2, at * 2 + 2), 16))
}
