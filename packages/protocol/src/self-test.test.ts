import { describe, expect, it } from 'vitest'
import { findPlatformFaults } from './self-test.ts'

describe('findPlatformFaults', () => {
  it('finds none here', async () => {
    expect(await findPlatformFaults()).toEqual([])
  })
})
