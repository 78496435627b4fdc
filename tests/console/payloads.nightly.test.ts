import { afterAll, expect, it } from 'vitest'
import { closePages, sharedBrowser } from './browser.ts'
import { untested, visitMalicious } from './malicious/visit.ts'

/** The campaign console-hostile uses 5,000. */
const TEXTS = 12

afterAll(async () => closePages(await sharedBrowser()))

it(`shows ${TEXTS} malicious texts on every page, tab and drawer without running one or breaking a layout`, async () => {
  const visited = await visitMalicious(TEXTS, 1, 'all')
  expect(visited.problems).toEqual([])
  expect(Object.keys(visited.stored)).toContain('decision')
  expect(untested(visited)).toEqual([])
}, 600_000)
