import { setTimeout as pause } from 'node:timers/promises'
import { type TestAuthority, publishFirst, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { holdBasisVersion, readBasisVersion } from './decision-basis.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
  await publishFirst(na)
})
afterAll(() => na.stop())

it.each(['crl', 'feed', 'treaties', 'imports', 'operator-keys', 'boundary-policies'] as const)(
  'a change of %s is stored after a transaction that held the versions, and the next one sees it',
  async (domain) => {
    const { database } = na.core
    const order: string[] = []
    const { promise: isHeld, resolve } = Promise.withResolvers<void>()
    const decision = database.write(async (tx) => {
      const version = await holdBasisVersion(tx)
      resolve()
      await pause(100)
      order.push('decision')
      return version
    })
    await isHeld
    const change = database.write((tx) => tx.raiseVersion(domain)).then(() => order.push('change'))
    const before = await decision
    await change
    expect(order).toEqual(['decision', 'change'])
    const after = await database.write((tx) => holdBasisVersion(tx))
    expect(after).not.toBe(before)
    expect(await readBasisVersion(database)).toBe(after)
  },
)

it('other changes wait for nothing, and do not count', async () => {
  const { database } = na.core
  const before = await readBasisVersion(database)
  await database.write((tx) => tx.raiseVersion('data-usage'))
  expect(await readBasisVersion(database)).toBe(before)
})
