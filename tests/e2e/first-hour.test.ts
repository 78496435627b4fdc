import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAll } from '../../tools/release/pack.ts'
import { GATEWAY_PAGE, missing, readSteps, runPage } from './runnable-pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAX_SECONDS = 600

/** Commands that a reader types: lines, without those that continue another one. */
function countCommands(page: string): number {
  const steps = readSteps(readFileSync(join(ROOT, page), 'utf8')).filter(({ title }) => !title.includes('Stop'))
  const lines = steps.flatMap(({ commands }) => commands.replaceAll('\\\n', '').trim().split('\n'))
  return lines.length
}

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

  it.each([
    ['README.md', 12],
    // It starts three programs and waits for each.
    [GATEWAY_PAGE, 22],
  ])(
    '%s: leads to an allowed and a denied decision in fewer than %i commands and 10 minutes',
    async (page, maxCommands) => {
      const started = performance.now()
      const ran = await runPage(page, join(folder, 'node_modules/.bin'))
      try {
        const steps = readSteps(readFileSync(join(ROOT, page), 'utf8'))
        expect(ran.code, `${ran.output}\n${ran.errors}`).toBe(0)
        for (const [index, { promised, commands }] of steps.entries())
          expect(missing(promised, ran.outputs[index] ?? ''), commands).toBeUndefined()
        const seconds = installSeconds + (performance.now() - started) / 1000
        // One more: npm install.
        const commands = countCommands(page) + 1
        expect(commands).toBeLessThan(maxCommands)
        expect(seconds).toBeLessThan(MAX_SECONDS)
      } finally {
        await rm(ran.folder, { recursive: true, force: true })
      }
    },
    300_000,
  )
})
