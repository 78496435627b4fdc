import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAll } from '../../tools/release/pack.ts'
import { FIRST_HOUR_PAGES, GATEWAY_PAGE, missing, readSteps, runPage } from './runnable-pages.ts'
import type { Ran } from './runnable-pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAX_COMMANDS = 12
const MAX_SECONDS = 600

const stepsOf = (page: string) => readSteps(readFileSync(join(ROOT, page), 'utf8'))

/** Commands that a reader types: lines, without those that continue another one. */
function typedCommands(page: string): readonly string[] {
  return stepsOf(page)
    .filter(({ title }) => !title.includes('Stop'))
    .flatMap(({ commands }) => commands.replaceAll('\\\n', '').trim().split('\n'))
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

  it.each(FIRST_HOUR_PAGES)(
    `%s: leads to an allowed and a refused request in fewer than ${MAX_COMMANDS} commands and 10 minutes`,
    async (page) => {
      const started = performance.now()
      const ran = await runPage(page, join(folder, 'node_modules/.bin'))
      try {
        expect(ran.code, `${ran.output}\n${ran.errors}`).toBe(0)
        expect(ran.outputs).toHaveLength(stepsOf(page).length)
        for (const [index, { promised, commands }] of stepsOf(page).entries()) {
          expect(promised.length, commands).toBeGreaterThan(0)
          expect(missing(promised, ran.outputs[index] ?? ''), commands).toBeUndefined()
        }
        const seconds = installSeconds + (performance.now() - started) / 1000
        const commands = typedCommands(page)
        // Several commands in one line would not be fewer commands.
        expect(commands.filter((line) => /&&|;/.test(line))).toEqual([])
        // One more: npm install.
        expect(commands.length + 1).toBeLessThan(MAX_COMMANDS)
        expect(seconds).toBeLessThan(MAX_SECONDS)
        const characters = ['npm install', ...commands].join('').length
        const evidence = readFileSync(join(ROOT, 'docs/evidence/first-hour.md'), 'utf8')
        expect(evidence).toContain(`/${basename(page)}) | ${commands.length + 1}, ${characters} |`)
        if (page === GATEWAY_PAGE) await expectCleanGateway(ran)
      } finally {
        await rm(ran.folder, { recursive: true, force: true })
      }
    },
    300_000,
  )
})

/** The caller token is in its file only, the service logged both decisions, and the services stopped without an error. */
async function expectCleanGateway({ folder, output, errors }: Ran): Promise<void> {
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')
  const token = (await read('gateway/caller.token')).trim()
  expect(token).toMatch(/^gw1_/)
  const logs = ['na/authority.log', 'gateway/gateway.log', 'service.log']
  const texts = await Promise.all([...logs, 'gateway/policy.json', 'gateway/gateway.env'].map(read))
  for (const text of [output, errors, ...texts]) expect(text).not.toContain(token)
  const [authority, gateway, service] = texts
  expect(service).toMatch(/^allowed: GET \/stock by /m)
  expect(service?.trimEnd().split('\n').at(-1)).toBe(
    'refused: certificate_untrusted Revoked { reason: "cessation_of_operation" }',
  )
  for (const log of [authority, gateway]) {
    expect(log).toContain('"event":"stopped"')
    expect(log).not.toMatch(/"level":"(?:error|fatal)"/)
  }
}
