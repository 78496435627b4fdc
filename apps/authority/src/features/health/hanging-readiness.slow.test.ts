import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

it('a readiness that is not known in time is 0 in a scrape, so that the alert about it fires', async () => {
  const ready = async (): Promise<string | undefined> =>
    /^chancery_ready (\S+)$/m.exec((await na.request('GET', '/metrics')).text)?.[1]
  expect(await ready()).toBe('1')
  const found = await na.features.health.readiness.read()
  const { promise, resolve } = Promise.withResolvers<typeof found>()
  const hanging = vi.spyOn(na.features.health.readiness, 'read').mockReturnValue(promise)
  expect(await ready()).toBe('0')
  hanging.mockRestore()
  // A job may wait for it.
  resolve(found)
  expect(await ready()).toBe('1')
})
