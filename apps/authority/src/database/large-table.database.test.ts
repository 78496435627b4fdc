import { type TestAuthority, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLargeTable } from './large-tables.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
  for (const name of ['a', 'b', 'c'])
    await enroll(
      na,
      nodeCaller(na.url, await testSigner('n', `large-${name}`), () => na.core.clock.now()),
    )
})
afterAll(() => na.stop())

describe('isLargeTable', () => {
  it.each([
    [2, true],
    [3, false],
  ])('says of three rows against %i: %s', async (small, isLarge) => {
    expect(await isLargeTable(na.core.database.read, 'node_liveness', small)).toBe(isLarge)
  })
})
