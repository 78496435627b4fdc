import { Refusal } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { byIssue, readPlace, toWireTime, writePlace } from './list-position.ts'

const ORDER = byIssue('id')
const AT = '2026-01-02T03:04:05.678000Z'

describe('positions in a list by time of issue', () => {
  it.each([
    [AT, '73ea7100-0000-4000-8000-000000000001'],
    [AT, 'zoë 😀|with a bar'],
    [AT, 'x'.repeat(256)],
  ])('%s and %s are read back', (issued_at, id) => {
    expect(readPlace(ORDER, writePlace(ORDER, { issued_at, id }))).toEqual({ issued_at, id })
  })

  it('without a cursor there is none', () => {
    expect(readPlace(ORDER, undefined)).toBeUndefined()
  })

  it.each([
    '',
    AT,
    `${AT}|`,
    `2026-01-02T03:04:05Z|x`,
    `x|${AT}`,
    `${AT}|${'x'.repeat(257)}`,
    `${AT} |x`,
    "' or 1=1 --|x",
  ])('refuses %j', (after) => {
    expect(() => readPlace(ORDER, after)).toThrow(Refusal)
  })
})

describe('toWireTime', () => {
  it.each([
    ['2026-01-02T03:04:05.000000Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.678000Z', '2026-01-02T03:04:05.678000Z'],
    ['2026-01-02T03:04:05.000001Z', '2026-01-02T03:04:05.000001Z'],
    [null, null],
  ])('%s', (stored, wire) => {
    expect(toWireTime(stored)).toBe(wire)
  })
})
