import { describe, expect, it } from 'vitest'
import { sha256, toHex } from '../canonical/digest.ts'
import { leaves, nodes } from './small-tree.suite.ts'
import { TreeRange, rangePlaces } from './tree-range.ts'
import { treeRoot } from './tree.ts'

const SIZE = 40
const all = leaves(SIZE)

function rangeOf(start: number, end: number): TreeRange {
  const range = new TreeRange(start)
  for (const leaf of all.slice(start, end)) range.addLeaf(leaf)
  return range
}

describe('TreeRange', () => {
  it('gives the root of every tree, as the node by node reader does', async () => {
    expect(toHex(new TreeRange().root())).toBe(toHex(sha256(new Uint8Array())))
    for (let size = 1; size <= SIZE; size += 1)
      expect(toHex(rangeOf(0, size).root())).toBe(toHex(await treeRoot(size, nodes(all))))
  })

  it('has the hashes of the largest complete subtrees, from left to right', async () => {
    expect(rangePlaces(5, 16)).toEqual([
      { level: 0, index: 5 },
      { level: 1, index: 3 },
      { level: 3, index: 1 },
    ])
    expect(rangePlaces(2 ** 40, 2 ** 40 + 3)).toEqual([
      { level: 1, index: 2 ** 39 },
      { level: 0, index: 2 ** 40 + 2 },
    ])
    for (let start = 0; start < SIZE; start += 1)
      for (let end = start; end <= SIZE; end += 1) {
        const places = rangePlaces(start, end)
        const expected = await Promise.all(places.map(({ level, index }) => nodes(all)(level, index)))
        expect(rangeOf(start, end).hashes.map(toHex), `${start} to ${end}`).toEqual(expected.map(toHex))
      }
  })

  it('joins neighbouring ranges to the root of the whole tree', async () => {
    const root = await treeRoot(SIZE, nodes(all))
    for (let first = 0; first <= SIZE; first += 3)
      for (let second = first; second <= SIZE; second += 5) {
        const range = new TreeRange()
        const parts = [rangeOf(0, first), rangeOf(first, second), rangeOf(second, SIZE)]
        expect(parts.every((part) => range.addRange(part.hashes, part.end))).toBe(true)
        expect(toHex(range.root())).toBe(toHex(root))
      }
  })

  it('refuses a range of another length, and one that goes back', () => {
    const range = rangeOf(0, 8)
    expect(range.addRange(rangeOf(8, 15).hashes, 14)).toBe(false)
    expect(range.addRange([], 9)).toBe(false)
    expect(range.addRange([], 7)).toBe(false)
    expect([range.end, range.root()]).toEqual([8, rangeOf(0, 8).root()])
    expect(() => rangeOf(1, 8).root()).toThrow('all leaves')
  })

  it('a copy does not change with its original', () => {
    const range = rangeOf(0, 8)
    const copy = range.copy()
    range.addLeaf(all[8] as Uint8Array)
    expect([copy.end, copy.root()]).toEqual([8, rangeOf(0, 8).root()])
  })
})
