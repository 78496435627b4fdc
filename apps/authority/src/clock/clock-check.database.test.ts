import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import { type Clock, createLog, systemClock } from '@chancery/service-kit'
import { type TestAuthority, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const onPostgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

/** The real clock, with the wall clock moved by some seconds. The monotonic clock does not change. */
class ShiftedClock implements Clock {
  shiftSeconds: number
  constructor(shiftSeconds = 0) {
    this.shiftSeconds = shiftSeconds
  }
  now(): bigint {
    return systemClock.now() + BigInt(this.shiftSeconds * 1_000_000)
  }
  monotonicMs(): number {
    return systemClock.monotonicMs()
  }
}

/** Reliability 8.2. */
describe('the clock against that of the database', () => {
  let na: TestAuthority
  let lines = ''
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => (lines += line) } })
  const start = (clock: Clock, check = 'on'): Promise<TestAuthority> =>
    startTestAuthority({ clock, log, settings: { NA_CLOCK_CHECK: check } })
  const publish = (id: string): ReturnType<ReturnType<TestAuthority['as']>> =>
    na.as('privileged')('POST', '/admin/policy', { policy_id: id })
  const halted = async (): Promise<unknown> =>
    (refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')['details'] as JsonObject)['signing_halted']

  beforeEach(() => {
    lines = ''
  })
  afterEach(() => na.stop())

  it.runIf(onPostgres).each([40, -40])('%d s apart: not ready, nothing is signed, reads are served', async (shift) => {
    na = await start(new ShiftedClock(shift))
    expect(await halted()).toEqual(['clock_offset'])
    refused(await publish('wrong-time'), 503, 'service_unavailable')
    accepted(await na.as('standard')('GET', '/admin/policy/history'))
    accepted(await na.request('GET', '/genesis'))
  })

  it.runIf(onPostgres).each([20, -20])('%d s apart: a warning, and everything works', async (shift) => {
    na = await start(new ShiftedClock(shift))
    accepted(await na.request('GET', '/readyz'))
    accepted(await publish('still-right'), 201)
    expect(lines).toContain('clock differs from the database clock')
    const offset = /^chancery_clock_offset_seconds (\S+)$/m.exec((await na.request('GET', '/metrics')).text)?.[1]
    expect(Math.abs(Number(offset) - shift)).toBeLessThan(1)
  })

  it.runIf(onPostgres)('one second apart: no log line', async () => {
    na = await start(new ShiftedClock(1))
    accepted(await na.request('GET', '/readyz'))
    expect(lines).not.toContain('clock')
  })

  it.runIf(onPostgres)('a jump stops signing before any comparison, and its end starts it again', async () => {
    const clock = new ShiftedClock()
    na = await start(clock)
    accepted(await publish('before'), 201)
    clock.shiftSeconds = 3600
    // No timer has run: the next signature is already refused.
    expect(na.core.signing.halts.some((halt) => halt.isHalted())).toBe(true)
    refused(await publish('after-jump'), 503, 'service_unavailable')
    for (let i = 0; i < 500 && !lines.includes('signing stopped'); i += 1) await pause(20)
    expect(lines).toContain('signing stopped: clock offset too large')
    expect(await halted()).toEqual(['clock_offset'])
    clock.shiftSeconds = 0
    await na.core.clockCheck.check()
    accepted(await publish('right-again'), 201)
    expect(lines).toContain('clock offset within limit, signing resumed')
  })

  it.runIf(onPostgres)('a jump that corrected the clock costs one comparison', async () => {
    const clock = new ShiftedClock(-25)
    na = await start(clock)
    clock.shiftSeconds = 0
    expect(na.core.signing.halts.some((halt) => halt.isHalted())).toBe(true)
    for (let i = 0; i < 500 && na.core.signing.halts.some((halt) => halt.isHalted()); i += 1) await pause(20)
    accepted(await publish('corrected'), 201)
  })

  it('is not compared with NA_CLOCK_CHECK=off, and the start logs it', async () => {
    na = await start(new ShiftedClock(5000), 'off')
    accepted(await na.request('GET', '/readyz'))
    accepted(await publish('rehearsal'), 201)
    expect(lines).toContain('clock is not compared with the database clock')
  })

  it.runIf(!onPostgres)('cannot be compared on SQLite', async () => {
    na = await start(new ShiftedClock(5000))
    accepted(await publish('alone'), 201)
  })
})
