import { type Instant, seconds } from '@chancery/protocol'
import type { Check } from './check.ts'
import { loggedEvents } from './setup.ts'

const DIFFERS = 'clock differs from the database clock'
const OFF = 'clock is not compared with the database clock'
/** A comparison takes time while the clock runs, so no skew may be within a second above a bound. */
const GRAIN = 3_300_000n
const SMALL = 1_700_000n

let published = 0
const policy = (): { policy_id: string } => ({ policy_id: `watched-${(published += 1)}` })

/**
 * Reliability 8: an offset over two seconds from the database gives a warning, over thirty stops signing, and a jump
 * over five seconds is compared at once. With the check off, no jump stops signing, and the start logs this.
 */
const comparison: Check = {
  name: 'comparison with the database',
  async prepare(setup, compare) {
    const { na: rehearsing, watched } = setup
    const { na, clock, lines } = watched
    const { clockCheck } = na.core
    clock.skew = 0n
    await clockCheck.check()
    compare(
      'switched off, said at the start',
      true,
      setup.lines.some((line) => line.includes(OFF)),
    )
    return {
      async atRest() {
        const [before, skew] = [clock.skew, coarse(setup.skew)]
        clock.skew = skew
        // No wait since the move, so no comparison was made yet.
        const isJump = size(skew - before) > seconds(5)
        compare('halted at the jump', isJump || isOff(before), clockCheck.isHalted())
        await clockCheck.check()
        compare('halted', isOff(skew), clockCheck.isHalted())
        const said = lines.length
        await clockCheck.check()
        const isWarned = lines.slice(said).some((line) => line.includes(DIFFERS))
        compare('warned', size(skew) > seconds(2), isWarned)
        compare(
          'ready',
          isOff(skew) ? '503 service_not_ready' : '200',
          loggedEvents(await na.request('GET', '/readyz')),
        )
        const answer = await na.as('privileged')('POST', '/admin/policy', policy())
        compare('signing', isOff(skew) ? '503 service_unavailable' : '201', loggedEvents(answer))
        compare('switched off, ready', '200', loggedEvents(await rehearsing.request('GET', '/readyz')))
        const signed = await rehearsing.as('privileged')('POST', '/admin/policy', policy())
        compare('switched off, signing', '201', loggedEvents(signed))
      },
    }
  },
}

function isOff(skew: Instant): boolean {
  return size(skew) > seconds(30)
}

function coarse(skew: Instant): Instant {
  if (size(skew) <= SMALL) return skew
  const grains = (size(skew) + GRAIN / 2n) / GRAIN
  return (grains === 0n ? 1n : grains) * (skew < 0n ? -GRAIN : GRAIN)
}

function size(value: Instant): Instant {
  return value < 0n ? -value : value
}

export const CLOCK_CHECK_CHECKS: readonly Check[] = [comparison]
