import { describe, expect, it } from 'vitest'
import { changeBetween, changeOfPieces, changePieces, piecesOfChange } from './list-change.ts'
import type { ListChange, ListPiece } from './list-change.ts'

function apply(before: readonly string[], change: ListChange): readonly string[] | undefined {
  const pieces = piecesOfChange(before.length, change)
  return pieces && textsOf(before, pieces)
}

function textsOf(before: readonly string[], pieces: readonly ListPiece<string>[]): readonly string[] {
  return pieces.flatMap((piece) =>
    piece.kind === 'kept' ? before.slice(piece.at, piece.at + piece.count) : piece.entries,
  )
}

/** The same numbers at each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Removes, replaces, adds and, now and then, moves entries. */
function mutate(list: readonly string[], pick: (below: number) => number, fresh: () => string): readonly string[] {
  const next = [...list]
  for (let step = pick(6); step > 0; step -= 1) {
    const at = pick(next.length + 1)
    const kind = pick(10)
    if (kind < 4) next.push(fresh())
    else if (kind < 7) next.splice(at, pick(3))
    else if (kind < 9) next.splice(at, 1, fresh())
    else next.push(...next.splice(at, 1))
  }
  return next
}

describe('the change between two lists', () => {
  it.each([
    [[], []],
    [[], ['a']],
    [['a'], []],
    [
      ['a', 'b', 'c'],
      ['b', 'c', 'a'],
    ],
    [
      ['a', 'b', 'c'],
      ['c', 'a', 'b'],
    ],
    [
      ['a', 'a'],
      ['a', 'a', 'a'],
    ],
  ] as const)('makes %j to %j', (before, after) => {
    expect(apply(before, changeBetween(before, after))).toEqual(after)
  })

  it('is what was added and removed', () => {
    expect(changeBetween(['a', 'b', 'c', 'd'], ['a', 'C', 'd', 'e', 'f'])).toEqual({
      removed: [{ at: 1, count: 2 }],
      added: [
        { at: 1, entries: ['C'] },
        { at: 3, entries: ['e', 'f'] },
      ],
    })
  })

  it('of several lists joins to the change between the first and the last', () => {
    const pick = numbers(7)
    let id = 0
    for (let round = 0; round < 300; round += 1) {
      const first = Array.from({ length: pick(12) }, () => `e${(id += 1)}`)
      let [list, pieces] = [
        first as readonly string[],
        piecesOfChange<string>(first.length, { removed: [], added: [] }),
      ]
      for (let version = 0; version < 5; version += 1) {
        const next = mutate(list, pick, () => `e${(id += 1)}`)
        const change = changeBetween(list, next)
        expect(apply(list, change)).toEqual(next)
        pieces = pieces && changePieces(pieces, change)
        expect(pieces && textsOf(first, pieces)).toEqual(next)
        list = next
      }
      expect(apply(first, changeOfPieces(first.length, pieces ?? []))).toEqual(list)
    }
  })
})

describe('a change that does not fit', () => {
  it.each<[string, ListChange]>([
    ['removes behind the end', { removed: [{ at: 2, count: 2 }], added: [] }],
    ['removes nothing', { removed: [{ at: 1, count: 0 }], added: [] }],
    [
      'removes backwards',
      {
        removed: [
          { at: 1, count: 1 },
          { at: 0, count: 1 },
        ],
        added: [],
      },
    ],
    [
      'removes twice',
      {
        removed: [
          { at: 0, count: 2 },
          { at: 1, count: 1 },
        ],
        added: [],
      },
    ],
    ['adds behind the end', { removed: [], added: [{ at: 4, entries: ['x'] }] }],
    ['adds nothing', { removed: [], added: [{ at: 1, entries: [] }] }],
    [
      'adds backwards',
      {
        removed: [],
        added: [
          { at: 2, entries: ['x'] },
          { at: 1, entries: ['y'] },
        ],
      },
    ],
    [
      'adds twice at one place',
      {
        removed: [],
        added: [
          { at: 1, entries: ['x', 'y'] },
          { at: 2, entries: ['z'] },
        ],
      },
    ],
  ])('%s', (_name, change) => {
    expect(apply(['a', 'b', 'c'], change)).toBeUndefined()
    expect(changePieces([{ kind: 'kept', at: 0, count: 3 }], change)).toBeUndefined()
  })
})
