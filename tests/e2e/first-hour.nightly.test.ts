import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAll } from '../../tools/release/pack.ts'
import { followPage } from './first-hour.suite.ts'
import { FIRST_HOUR_PAGES } from './runnable-pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAX_SECONDS = 600

/** As a new user: an empty folder, the packed files, npm, and the commands of a page as printed. */
describe('the first hour', () => {
  let folder = ''
  let installSeconds = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-first-hour-'))
    const tarballs = await packAll(join(folder, 'tarballs'))
    await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
    const started = performance.now()
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
    await promisify(execFile)('npm', ['install', ...options, ...tarballs], { cwd: folder })
    installSeconds = (performance.now() - started) / 1000
    // The page of the gateway starts a small service of the checkout.
    await cp(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })
  }, 300_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.each(FIRST_HOUR_PAGES)(
    '%s: leads to an allowed and a refused request in 10 minutes, from packed files',
    async (page) => {
      const seconds = await followPage(page, join(folder, 'node_modules/.bin'))
      expect(installSeconds + seconds).toBeLessThan(MAX_SECONDS)
    },
    300_000,
  )
})
