import { describe, expect, it } from 'vitest'
import { mergeRows, newerText } from './merge-rows.ts'

/** A row is its id and its state. */
const merge = (shown: readonly string[], fresh: readonly string[], limit = 4): readonly [string, number] => {
  const { rows, newer } = mergeRows(shown, fresh, (row) => row.charAt(0), limit)
  return [rows.join(' '), newer]
}

describe('rows that are read again', () => {
  it.each([
    ['change in place', ['a1', 'b1'], ['a2', 'b1'], 'a2 b1', 0],
    ['keep their order', ['a', 'b', 'c'], ['c', 'a', 'b'], 'a b c', 0],
    ['wait above the shown ones', ['b', 'c'], ['a', 'b', 'c'], 'b c', 1],
    ['wait between the shown ones', ['a', 'c'], ['a', 'b', 'c'], 'a c', 1],
    ['appear below the last one', ['a', 'b'], ['a', 'b', 'c'], 'a b c', 0],
    ['stay when new ones push them to the next page', ['b', 'c', 'd', 'e'], ['a', 'b', 'c', 'd'], 'b c d e', 1],
    ['go when they are gone', ['a', 'b', 'c'], ['a', 'c'], 'a c', 0],
    ['go when they are gone, and the next page moves up', ['a', 'b', 'c', 'd'], ['a', 'c', 'd', 'e'], 'a c d e', 0],
    ['go from the end of a short page', ['a', 'b'], ['x', 'a'], 'a', 1],
    ['stay when all were pushed away', ['e', 'f', 'g', 'h'], ['a', 'b', 'c', 'd'], 'e f g h', 4],
  ])('%s', (_name, shown, fresh, rows, newer) => {
    expect(merge(shown, fresh)).toEqual([rows, newer])
  })

  it('are counted in words', () => {
    expect([newerText(1, 'Entries'), newerText(1, 'Decisions'), newerText(1200, 'Boundary policies')]).toEqual([
      '1 newer entry',
      '1 newer decision',
      '1,200 newer boundary policies',
    ])
  })
})
