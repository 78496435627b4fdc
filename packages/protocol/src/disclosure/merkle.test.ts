import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { buildMerkleTree, merkleLeaf, merklePathLength, merkleRootOf } from './merkle.ts'

const hash = (...parts: readonly (string | Buffer)[]): Buffer => {
  const all = createHash('sha256')
  for (const part of parts) all.update(part)
  return all.digest()
}

describe('buildMerkleTree', () => {
  it('over one capability is its leaf, with nothing to walk', () => {
    const tree = buildMerkleTree(['a'])
    expect(tree.root).toBe(hash('a').toString('hex'))
    expect(tree.pathOf('a')).toEqual([])
  })

  it('pads three to four with the hash of nothing', () => {
    const left = hash(hash('a'), hash('b'))
    const right = hash(hash('c'), hash(''))
    expect(buildMerkleTree(['c', 'a', 'b']).root).toBe(hash(left, right).toString('hex'))
    expect(buildMerkleTree(['c', 'a', 'b']).pathOf('c')).toEqual([
      { sibling_hash: hash('').toString('hex'), is_left: false },
      { sibling_hash: left.toString('hex'), is_left: true },
    ])
  })

  it('sorts by code point, not by UTF-16 unit', () => {
    // U+E000 comes before U+1F600, although its unit is larger than the first surrogate.
    const [first, second] = ['\ue000', '\u{1f600}']
    expect(buildMerkleTree([second, first]).root).toBe(hash(hash(first), hash(second)).toString('hex'))
  })

  it('knows nothing it was not built over, and needs something', () => {
    expect(buildMerkleTree(['a', 'b']).pathOf('c')).toBeUndefined()
    expect(buildMerkleTree(['a', 'b']).pathOf('')).toBeUndefined()
    expect(() => buildMerkleTree([])).toThrow(RangeError)
  })

  it.each([1, 2, 3, 5, 8, 9, 31, 64, 65, 1000])('leads every one of %i leaves to the root', (count) => {
    const capabilities = Array.from({ length: count }, (_, i) => `cap.${i}`)
    const tree = buildMerkleTree(capabilities)
    for (const capability of capabilities) {
      const path = tree.pathOf(capability) ?? []
      expect(path).toHaveLength(merklePathLength(count))
      expect(merkleRootOf(merkleLeaf(capability), path)).toBe(tree.root)
    }
  })
})

describe('merklePathLength', () => {
  it.each([
    [1, 0],
    [2, 1],
    [3, 2],
    [4, 2],
    [5, 3],
    [8, 3],
    [9, 4],
    [1024, 10],
    [1025, 11],
    [2 ** 32 + 1, 33],
    [Number.MAX_SAFE_INTEGER, 53],
  ])('of %i is %i', (count, length) => {
    expect(merklePathLength(count)).toBe(length)
  })
})
