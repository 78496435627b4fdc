import { Refusal } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { DatabaseUnavailableError, DiskFullError, LockTimeoutError, UnknownOutcomeError } from '../database/errors.ts'
import { isOutage } from './is-outage.ts'

const parts = (isWritable: boolean, isAllowed: boolean) => ({
  databaseProbe: { read: async () => ({ database: { writable: isWritable } }) },
  signing: { isAllowed: () => isAllowed },
})

describe('the failure of a job', () => {
  it.each([
    new DatabaseUnavailableError('away'),
    new DiskFullError('full'),
    new LockTimeoutError('locked'),
    new UnknownOutcomeError('unknown'),
    Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' }),
  ])('is that of the database while its check fails, and its own while it passes: %o', async (failure) => {
    expect(await isOutage(failure, parts(false, true))).toBe(true)
    expect(await isOutage(failure, parts(true, true))).toBe(false)
  })

  it('is that of the key while nothing is signed', async () => {
    const failure = new Refusal('signing_unavailable', { reason: 'signing_key_unavailable' })
    expect(await isOutage(failure, parts(true, false))).toBe(true)
    expect(await isOutage(failure, parts(true, true))).toBe(false)
  })

  it('is its own where it has another cause, whatever else is away', async () => {
    expect(await isOutage(new TypeError('a bug'), parts(false, false))).toBe(false)
    expect(await isOutage(new Refusal('not_found'), parts(false, false))).toBe(false)
  })
})
