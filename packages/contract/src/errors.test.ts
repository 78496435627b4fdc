import { describe, expect, it } from 'vitest'
import { ERRORS, isErrorCode } from './errors.ts'

describe('the table of errors', () => {
  it('says something safe and complete for every code', () => {
    for (const [code, { message }] of Object.entries(ERRORS)) {
      expect(message, code).toMatch(/^[A-Za-z].*\.$/)
      expect(message, code).not.toMatch(/[<>{}$%[\]]|TODO|undefined|null\b(?!\.)/)
    }
  })

  it('keeps the text of a failed login and of an unexpected error plain', () => {
    expect(ERRORS.admin_auth_failed.message).toBe('Operator authentication failed.')
    expect(ERRORS.internal_server_error.message).toBe('Unexpected error.')
  })
})

describe('isErrorCode', () => {
  it('knows its codes and nothing inherited', () => {
    expect(isErrorCode('stale_sequence')).toBe(true)
    expect(isErrorCode('toString')).toBe(false)
    expect(isErrorCode('network_scope')).toBe(false)
  })
})
