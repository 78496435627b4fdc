import { describe, expect, it } from 'vitest'
import { duration, relative } from './parts/duration.ts'
import { nodeState } from './pages/nodes/node-state.ts'
import { spellOut } from './signing/spell-out.ts'
import { at, withParameters } from './target.ts'

describe('a target', () => {
  it('is encoded for sending and plain for signing', () => {
    const target = withParameters(at`/admin/partners/${'A/B ü'}/pull`, { q: 'a&b', none: undefined, limit: 5 })
    expect(target).toEqual({
      path: '/admin/partners/A/B ü/pull',
      query: { q: ['a&b'], limit: ['5'] },
      encoded: '/admin/partners/A%2FB%20%C3%BC/pull?q=a%26b&limit=5',
    })
  })

  it.each(['', '.', '..'])('refuses the part %j, which would reach another route', (part) => {
    expect(() => at`/admin/partners/${part}/remove`).toThrow('empty')
  })
})

describe('the signed text', () => {
  it.each([
    { a: 1, b: [], c: {}, d: ['x', { y: null }] },
    { text: 'quote " brace { comma , back \\ slash', 'k"': '\n}' },
  ])('gets line breaks outside of texts only', (value) => {
    const text = JSON.stringify(value)
    const shown = spellOut(text)
    expect(JSON.parse(shown)).toEqual(value)
    expect(shown.replaceAll(/\n */g, '')).toBe(text)
    expect(shown.split('\n').length).toBeGreaterThan(2)
  })
})

describe('times', () => {
  it('have their two largest units', () => {
    expect([1_000, 61_000, 3_660_000, 90_000_000, 216_000_000].map(duration)).toEqual([
      '1 s',
      '1 min',
      '1 h 1 min',
      '1 d 1 h',
      '2 d 12 h',
    ])
    expect([relative(5_000, 0), relative(0, 5_000), relative(0, 0)]).toEqual(['in 5 s', '5 s ago', 'now'])
  })
})

describe('the state of a node', () => {
  it.each([
    ['active', 'Active'],
    ['ends_soon', 'Ends within 24 h'],
    ['silent', 'Silent'],
    ['superseded', 'Superseded'],
    ['revoked', 'Revoked'],
    ['expired', 'Expired'],
    ['state_of_2030', 'state of 2030'],
  ])('%s is shown as %s', (state, word) => {
    expect(nodeState(state).word).toBe(word)
  })
})
