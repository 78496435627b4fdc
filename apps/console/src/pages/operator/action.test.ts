import { describe, expect, it } from 'vitest'
import { optionalNumber, optionalText, text, words } from './action.ts'

describe('values of a form', () => {
  it('are separated by spaces, commas and lines', () => {
    expect(words({ roles: ' role:a, role:b\nrole:c ' }, 'roles')).toEqual(['role:a', 'role:b', 'role:c'])
    expect(words({}, 'roles')).toEqual([])
    expect(text({ id: '  x ' }, 'id')).toBe('x')
  })

  it('are left out when empty, so that defaults apply', () => {
    expect(optionalNumber({ hours: ' ' }, 'hours')).toEqual({})
    expect(optionalText({ reason: '' }, 'reason')).toEqual({})
    expect(optionalNumber({ hours: '168' }, 'hours')).toEqual({ hours: 168 })
  })

  it.each(['1.5', '-1', '1e3', 'many', '9999999999'])('refuse %s as a number', (given) => {
    expect(() => optionalNumber({ hours: given }, 'hours')).toThrow('hours must be a whole number.')
  })
})
