import { describe, it } from 'vitest'
import { MAX_COMMANDS, expectFewCommands, followPage } from './first-hour.suite.ts'
import { FIRST_HOUR_PAGES } from './runnable-pages.ts'

/** first-hour.nightly.test.ts runs both pages from packed files. */
describe('the first hour', () => {
  it.each(FIRST_HOUR_PAGES)(`%s has fewer than ${MAX_COMMANDS} commands`, (page) => expectFewCommands(page))

  it('README.md leads to an allowed and a refused request, with the built program', async () => {
    await followPage('README.md')
  }, 300_000)
})
