import { describe, expect, it } from 'vitest'
import { systemIds } from './ids.ts'

describe('systemIds', () => {
  it('returns lower-case random UUIDs', () => {
    expect(systemIds.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('returns tokens of 32 bytes without padding', () => {
    const token = systemIds.token()
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
  })

  it.each([1, 2, 11, 12, 64])('returns exactly %d hex digits', (digits) => {
    expect(systemIds.hex(digits)).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`))
  })

  it.each([0, -1, 1.5, Number.NaN])('refuses %d digits', (digits) => {
    expect(() => systemIds.hex(digits)).toThrow(RangeError)
  })

  it('never returns the same value twice', () => {
    const values = Array.from({ length: 100 }, () => [systemIds.uuid(), systemIds.token(), systemIds.hex(16)]).flat()
    expect(new Set(values).size).toBe(300)
  })
})
