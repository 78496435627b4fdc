import { describe, expect, it } from 'vitest'
import { diffTexts } from './diff.ts'

const shown = (before: string, after: string): readonly string[] =>
  diffTexts(before, after).map(({ sign, text }) => sign + text)

describe('diffTexts', () => {
  it('is empty for equal texts', () => {
    expect(shown('a\nb\nc', 'a\nb\nc')).toEqual([])
  })

  it('shows removed and added lines, with three lines around', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`)
    const changed = lines.with(10, 'other').toSpliced(11, 0, 'new')
    expect(shown(lines.join('\n'), changed.join('\n'))).toEqual([
      ' line 7',
      ' line 8',
      ' line 9',
      '-line 10',
      '+other',
      '+new',
      ' line 11',
      ' line 12',
      ' line 13',
    ])
  })

  it('marks omitted lines between two changes', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`)
    const out = shown(lines.join('\n'), lines.with(2, 'x').with(17, 'y').join('\n'))
    expect(out.filter((line) => line === ' …')).toHaveLength(1)
    expect(out).toContain('+x')
    expect(out).toContain('+y')
  })

  it('contains both texts completely, for any texts', () => {
    // Texts of at most four lines, so that no equal line is omitted.
    let state = 7
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((state / 2_147_483_648) * below)
    }
    const draw = (): string => Array.from({ length: 1 + random(4) }, () => 'abc'[random(3)] ?? '').join('\n')
    for (let run = 0; run < 500; run += 1) {
      const [a, b] = [draw(), draw()]
      if (a === b) continue
      const lines = diffTexts(a, b)
      const side = (sign: string): string =>
        lines
          .filter((line) => line.sign === ' ' || line.sign === sign)
          .map(({ text }) => text)
          .join('\n')
      expect([side('-'), side('+')]).toEqual([a, b])
    }
  })

  it('replaces the whole text when it is too long to compare by line', () => {
    const long = (word: string): string => Array.from({ length: 2100 }, (_, i) => `${word} ${i}`).join('\n')
    const out = diffTexts(long('a'), long('b'))
    expect(out.filter(({ sign }) => sign === '-')).toHaveLength(2100)
    expect(out.filter(({ sign }) => sign === '+')).toHaveLength(2100)
  })
})

describe('line numbers of a diff', () => {
  it('count each text by itself', () => {
    expect(diffTexts('a\nb\nc', 'a\nx\ny\nc').map(({ before, after }) => [before, after])).toEqual([
      [1, 1],
      [2, undefined],
      [undefined, 2],
      [undefined, 3],
      [3, 4],
    ])
  })
})
