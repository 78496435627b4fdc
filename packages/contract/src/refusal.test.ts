import { describe, expect, it } from 'vitest'
import { Refusal } from './refusal.ts'

describe('Refusal', () => {
  it('carries the code, its usual text and empty details', () => {
    const refusal = new Refusal('stale_sequence')
    expect(refusal).toBeInstanceOf(Error)
    expect(refusal).toMatchObject({
      name: 'Refusal',
      code: 'stale_sequence',
      message: 'A feed with this or a later sequence is already stored.',
      details: {},
    })
    expect(refusal.cause).toBeUndefined()
  })

  it('carries details and a cause', () => {
    const cause = new Error('lock timeout')
    const refusal = new Refusal('crl_publish_contention', { sequence: 7 }, { cause })
    expect(refusal.details).toEqual({ sequence: 7 })
    expect(refusal.cause).toBe(cause)
  })

  it('takes the fixed text of an unknown or revoked operator key', () => {
    const refusal = new Refusal('admin_auth_failed', {}, { message: 'Unknown admin key' })
    expect(refusal.message).toBe('Unknown admin key')
    expect(refusal.code).toBe('admin_auth_failed')
  })
})
