import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { MAX_COMMANDS, expectFewCommands, followPage } from './first-hour.suite.ts'
import { FIRST_HOUR_PAGES } from './runnable-pages.ts'

/** first-hour.nightly.test.ts runs both pages from packed files. */
describe('the first hour', () => {
  it.each(FIRST_HOUR_PAGES)(`%s has fewer than ${MAX_COMMANDS} commands`, (page) => expectFewCommands(page))

  it('README.md leads to an allowed and a refused request, and its next page works in the same home', async () => {
    const home = await mkdtemp(join(tmpdir(), 'chancery-reader-'))
    await followPage('README.md', undefined, home)
    await followPage('docs/tutorial/two-companies.md', undefined, home)
    await rm(home, { recursive: true, force: true })
  }, 600_000)
})
