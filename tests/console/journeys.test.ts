import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HAS_ALL_SCREENS } from './browser.ts'
import { type JourneySetup, fill, openJourneySetup } from './journey-setup.ts'
import { JOURNEYS, type Journey, firstRun } from './journeys.ts'
import { SCREENS, type Screen, Walk, type Walked, tooLong, walkedTable } from './walk.ts'

const walked: Walked[] = []
afterAll(() => {
  process.stdout.write(walkedTable(walked))
})

/** A network that is not added as a partner is a 404 of its route, which the browser reports. */
const isExpected = (trouble: string): boolean => trouble.includes('status of 404')

async function run(journey: Journey, screen: Screen, setup: JourneySetup): Promise<void> {
  const walk = await Walk.start(setup.browser, setup.na.url, setup.keyFile, screen)
  try {
    await journey.walk(walk, setup)
    const result = walk.end(journey.name)
    walked.push(result)
    expect(tooLong([result])).toEqual([])
    expect(await walk.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      SCREENS[screen].viewport.width,
    )
    expect(walk.trouble.filter((each) => !isExpected(each))).toEqual([])
  } finally {
    await walk.close()
  }
}

describe.each(['light', 'dark', 'phone'] as const)('an operator, %s', (screen) => {
  // Before a merge, dark and phone walk only the journeys whose layout differs most.
  const isWhole = screen === 'light' || HAS_ALL_SCREENS
  let setup: JourneySetup
  beforeAll(async () => {
    setup = await openJourneySetup()
  })
  afterAll(() => setup.close())

  it.runIf(isWhole)('makes the first run in at most 8 clicks', () => run(firstRun, screen, setup))

  describe('in a network in use', () => {
    beforeAll(() => fill(setup))

    for (const journey of JOURNEYS.filter(({ isOnEveryScreen }) => isWhole || isOnEveryScreen))
      it(`can ${journey.name} in at most 8 clicks`, () => run(journey, screen, setup))
  })
})

it('reports a journey of nine clicks, and none of eight', () => {
  const of = (clicks: number): Walked => ({ name: 'renew', screen: 'light', clicks, seconds: 1 })
  expect(tooLong([of(8), of(9)])).toEqual(['renew, light: 9 clicks, at most 8'])
})
