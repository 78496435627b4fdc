import { sha256 } from '../canonical/digest.ts'
import { hashChildren } from './tree.ts'

/** The place of a complete subtree: 2^level leaves from leaf index × 2^level on. */
export interface TreePlace {
  readonly level: number
  readonly index: number
}

/** The largest complete subtrees that together have the leaves from `start` up to `end`, from left to right. */
export function rangePlaces(start: number, end: number): readonly TreePlace[] {
  const places: TreePlace[] = []
  for (let at = start; at < end;) {
    let [level, width] = [0, 1]
    while (at % (width * 2) === 0 && at + width * 2 <= end) [level, width] = [level + 1, width * 2]
    places.push({ level, index: at / width })
    at += width
  }
  return places
}

interface RangeNode extends TreePlace {
  readonly hash: Uint8Array
}

/**
 * The hashes of a range of neighbouring leaves of a log, at most two for each level of the tree. Ranges that follow
 * each other join without their leaves, and a range from the first leaf on gives the root of its tree (RFC 6962, 2.1).
 */
export class TreeRange {
  readonly start: number
  #nodes: RangeNode[] = []
  #end: number

  constructor(start = 0) {
    this.start = start
    this.#end = start
  }

  /** The number of leaves of the log up to the end of this range. */
  get end(): number {
    return this.#end
  }

  get hashes(): readonly Uint8Array[] {
    return this.#nodes.map(({ hash }) => hash)
  }

  addLeaf(hash: Uint8Array): void {
    this.#push({ level: 0, index: this.#end, hash })
    this.#end += 1
  }

  /** Adds the range that follows, up to `end`. False, and nothing is added, when it has another number of hashes. */
  addRange(hashes: readonly Uint8Array[], end: number): boolean {
    const places = end < this.#end ? [] : rangePlaces(this.#end, end)
    if (end < this.#end || places.length !== hashes.length) return false
    for (const [at, place] of places.entries()) this.#push({ ...place, hash: hashes[at] as Uint8Array })
    this.#end = end
    return true
  }

  copy(): TreeRange {
    const copy = new TreeRange(this.start)
    copy.#nodes = [...this.#nodes]
    copy.#end = this.#end
    return copy
  }

  /** Root of the tree; only of a range that begins with the first leaf. */
  root(): Uint8Array {
    if (this.start !== 0) throw new RangeError('a root needs all leaves from the first one on')
    const [last, ...before] = this.hashes.toReversed()
    return last === undefined
      ? sha256(new Uint8Array())
      : before.reduce((right, left) => hashChildren(left, right), last)
  }

  #push(node: RangeNode): void {
    let { level, index, hash } = node
    for (;;) {
      const top = this.#nodes.at(-1)
      if (top?.level !== level || top.index % 2 === 1 || top.index + 1 !== index) break
      this.#nodes.pop()
      ;[level, index, hash] = [level + 1, top.index / 2, hashChildren(top.hash, hash)]
    }
    this.#nodes.push({ level, index, hash })
  }
}
