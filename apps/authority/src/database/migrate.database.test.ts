import { ManualClock, accepted, createTestDatabase, enroll, newNodeCaller, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ActiveWindow, readSlowestPace, storePace, windowOf } from './migrate.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_HEARTBEAT_SECONDS: '300' } })
})
afterAll(() => na.stop())

const store = (pace: number) => na.core.database.write((tx) => storePace(tx, pace, clock.now()))
const slowest = () => readSlowestPace(na.core.database.read, clock.now())

it.each([
  [60, 300],
  [100, 300],
  [101, 303],
  [300, 900],
  [900, 2700],
])('an interval of %i s gives a window of %i s', (pace, expected) => {
  expect(windowOf(pace)).toBe(expected)
})

describe('the active-node window', () => {
  it('follows the interval of the settings: a node that sends every 300 s is active', async () => {
    const node = await newNodeCaller(na.url, 'window', clock)
    const { cert_id } = await enroll(na, node)
    const count = async () => accepted(await na.request('GET', '/nodes'))['count']
    const state = async () =>
      (accepted(await na.as('standard')('GET', '/admin/nodes')) as { nodes: { state: string }[] }).nodes[0]?.state
    clock.advance(899)
    expect(await count()).toBe(1)
    expect(await state()).not.toBe('silent')
    clock.advance(1)
    expect(await count()).toBe(0)
    expect(await state()).toBe('silent')
    accepted(await node.heartbeat(cert_id))
    expect(await count()).toBe(1)
    expect(accepted(await na.as('standard')('GET', '/admin/whoami'))['silent_after_seconds']).toBe(900)
  })

  it('follows the slowest interval that nodes were asked for, until they no longer follow it', async () => {
    const window = new ActiveWindow(300)
    const read = async (): Promise<number> => {
      await window.refresh(na.core.database.read, clock.now())
      return window.seconds
    }
    expect(await read()).toBe(900)
    await store(450)
    await store(900)
    expect(await read()).toBe(2700)
    clock.advance(100)
    await store(450)
    // Twice the window of 2,700 s after it was last asked for.
    clock.advance(5299)
    expect(await slowest()).toBe(900)
    clock.advance(1)
    expect(await slowest()).toBe(0)
    await store(450)
    expect(await na.core.database.read.selectFrom('heartbeat_paces').select('seconds').execute()).toEqual([
      { seconds: 450 },
    ])
    expect(await read()).toBe(1350)
  })

  it('is not shortened by an instance that stores an interval with an earlier clock', async () => {
    await store(600)
    const before = await na.core.database.read
      .selectFrom('heartbeat_paces')
      .selectAll()
      .where('seconds', '=', 600)
      .execute()
    await na.core.database.write((tx) => storePace(tx, 600, clock.now() - 1_000_000n))
    expect(
      await na.core.database.read.selectFrom('heartbeat_paces').selectAll().where('seconds', '=', 600).execute(),
    ).toEqual(before)
  })

  it('is right in a process that has just started, which another one made nodes send more slowly', async () => {
    const database = await createTestDatabase()
    const first = await startTestAuthority({ clock, database })
    await first.core.database.write((tx) => storePace(tx, 900, clock.now()))
    await first.stop()
    const second = await startTestAuthority({ clock, database })
    expect(second.core.activeWindow.seconds).toBe(2700)
    await second.stop()
    await database.drop()
  })
})
