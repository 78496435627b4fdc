import { Refusal } from '@chancery/contract'
import { readTarget } from '@chancery/service-kit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Page, pageMembers, readPage, writeCursor } from './paging.ts'

const read = (query: string): Page => readPage(readTarget(`/x?${query}`).query)

function isRefused(query: string): boolean {
  try {
    read(query)
    return false
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid_page') return true
    throw error
  }
}

describe('readPage (protocol/core 24)', () => {
  it.each<[string, Page]>([
    ['', { limit: 1000, offset: 0, after: undefined, asked: false }],
    ['status=active', { limit: 1000, offset: 0, after: undefined, asked: false }],
    ['limit=1', { limit: 1, offset: 0, after: undefined, asked: true }],
    ['limit=1000&offset=10000', { limit: 1000, offset: 10_000, after: undefined, asked: true }],
    ['offset=0', { limit: 1000, offset: 0, after: undefined, asked: true }],
    [`cursor=${writeCursor('a|ë')}`, { limit: 1000, offset: 0, after: 'a|ë', asked: true }],
    ['limit=5&limit=x', { limit: 5, offset: 0, after: undefined, asked: true }],
  ])('%s', (query, page) => {
    expect(read(query)).toEqual(page)
  })

  it.each([
    ...['0', '1001', '-1', '+1', '01', '1.0', '1e1', ' 1', '1 ', '', 'x', '%D9%A1', '9999999999', '0x10', '1_000'].map(
      (value) => `limit=${value}`,
    ),
    ...['-1', '10001', '', '00', '1.5', 'x', 'NaN', 'Infinity'].map((value) => `offset=${value}`),
    'cursor=',
    'cursor=x',
    'cursor=%21',
    `cursor=${writeCursor('x')}=`,
    `cursor=${writeCursor('x')}%20`,
    `cursor=${Buffer.from('2|x').toString('base64url')}`,
    `cursor=${Buffer.from('1').toString('base64url')}`,
    `cursor=${Buffer.from('1|ë').toString('base64')}%3D`,
    `cursor=${'A'.repeat(2000)}`,
    // Bytes that are not UTF-8 do not decode to the same text.
    `cursor=${Buffer.from([0x31, 0x7c, 0xff]).toString('base64url')}`,
    `cursor=${writeCursor('a\0')}`,
    `offset=0&cursor=${writeCursor('x')}`,
  ])('refuses %s', (query) => {
    expect(isRefused(query)).toBe(true)
  })

  it('decodes every position it encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (place) => {
        expect(read(`cursor=${writeCursor(place)}`).after).toBe(place)
      }),
    )
  })

  it('a cursor needs no escaping in a query', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (place) => /^[A-Za-z0-9_-]+$/.test(writeCursor(place))))
  })
})

describe('pageMembers', () => {
  const members = (page: Partial<Page>, rows: number, last: string | undefined, total: number | null = 7) =>
    pageMembers({ limit: 10, offset: 0, after: undefined, asked: true, ...page }, rows, last, async () => total)

  it('adds no members for a caller that did not ask for pages and got everything', async () => {
    const never = (): Promise<never> => Promise.reject(new Error('nothing is counted'))
    expect(await pageMembers({ limit: 10, offset: 0, after: undefined, asked: false }, 3, undefined, never)).toEqual({})
  })

  it('adds the next position when rows were left out', async () => {
    const logged = { total: 7, next_offset: 10, next_cursor: writeCursor('place') }
    expect(await members({ asked: false }, 10, 'place')).toEqual(logged)
    expect(await members({}, 10, 'place')).toEqual(logged)
    expect(await members({ offset: 20 }, 10, 'place')).toMatchObject({ next_offset: 30 })
  })

  it('ends with nulls', async () => {
    // The last page has the total without counting. After a cursor, or past the end, it has to be counted.
    expect(await members({}, 3, undefined)).toEqual({ total: 3, next_offset: null, next_cursor: null })
    expect(await members({ offset: 4 }, 3, undefined)).toMatchObject({ total: 7 })
    expect(await members({ after: 'x' }, 3, undefined)).toMatchObject({ total: 7 })
    expect(await members({ offset: 50 }, 0, undefined)).toMatchObject({ total: 7 })
  })

  it('has no offset after a cursor or beyond 10,000', async () => {
    expect(await members({ after: 'x' }, 10, 'place')).toMatchObject({
      next_offset: null,
      next_cursor: writeCursor('place'),
    })
    expect(await members({ offset: 9990 }, 10, 'place')).toMatchObject({ next_offset: 10_000 })
    expect(await members({ offset: 9991 }, 10, 'place')).toMatchObject({
      next_offset: null,
      next_cursor: writeCursor('place'),
    })
  })

  it('counts up to 10,000 and reports that there are more', async () => {
    const bounds: number[] = []
    const count = async (bound: number): Promise<null> => (bounds.push(bound), null)
    expect(await pageMembers({ limit: 1, offset: 0, after: undefined, asked: true }, 1, 'x', count)).toMatchObject({
      total: null,
    })
    expect(bounds).toEqual([10_000])
  })
})
