import { readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { GATEWAY_PAGE, type Ran, missing, readSteps, runPage } from './runnable-pages.ts'

const ROOT = join(import.meta.dirname, '../..')
export const MAX_COMMANDS = 12

const stepsOf = (page: string) => readSteps(readFileSync(join(ROOT, page), 'utf8'))

/** Commands that a reader types: lines, without those that continue another one. */
function typedCommands(page: string): readonly string[] {
  return stepsOf(page)
    .filter(({ title }) => !title.includes('Stop'))
    .flatMap(({ commands }) => commands.replaceAll('\\\n', '').trim().split('\n'))
}

/** The page has few commands, and docs/first-hour.md states how many. */
export function expectFewCommands(page: string): void {
  const commands = typedCommands(page)
  // Several commands in one line would not be fewer commands.
  expect(commands.filter((line) => /&&|;/.test(line))).toEqual([])
  // One more: npm install.
  expect(commands.length + 1).toBeLessThan(MAX_COMMANDS)
  const characters = ['npm install', ...commands].join('').length
  const evidence = readFileSync(join(ROOT, 'docs/first-hour.md'), 'utf8')
  expect(evidence).toContain(`/${basename(page)}) | ${commands.length + 1}, ${characters} |`)
}

/** Runs the commands of the page as printed, with the programs of `bin`, in the home of a reader. Returns the seconds. */
export async function followPage(page: string, bin?: string, home?: string): Promise<number> {
  const started = performance.now()
  const ran = await runPage(page, bin, home)
  try {
    expect(ran.code, `${ran.output}\n${ran.errors}`).toBe(0)
    expect(ran.outputs).toHaveLength(stepsOf(page).length)
    for (const [index, { promised, commands }] of stepsOf(page).entries()) {
      expect(promised.length, commands).toBeGreaterThan(0)
      expect(missing(promised, ran.outputs[index] ?? ''), commands).toBeUndefined()
    }
    const seconds = (performance.now() - started) / 1000
    if (page === GATEWAY_PAGE) await expectCleanGateway(ran)
    return seconds
  } finally {
    // What the page made stays for the next page of the same reader.
    if (home === undefined) await rm(ran.folder, { recursive: true, force: true })
  }
}

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
