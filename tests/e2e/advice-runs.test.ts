import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPILE_CACHE, type TestDatabase, createTestDatabase, freePort } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { advised, commandOf } from './advised-commands.ts'

/** Runs what the findings of doctor, gateway doctor and the console advise, in two networks that `chancery init` made. */

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')

let folder = ''
const services = new Map<string, ChildProcess>()
let database: TestDatabase
/** Values that a person puts in the place of FILE, ID and similar words. */
const values: Record<string, string> = {}

function start(words: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--conditions=development', MAIN, ...words], {
    cwd: folder,
    env: { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

interface Run {
  readonly code: number | null
  readonly text: string
}

async function chancery(line: string): Promise<Run> {
  const child = start(
    line.split(' ').map((word) => word.replace(/^<(.*)>$/, (_all, name: string) => values[name] ?? '')),
  )
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, text }
}

async function done(line: string): Promise<string> {
  const { code, text } = await chancery(line)
  if (code !== 0) throw new Error(`${line}: ${code}: ${text}`)
  return text
}

async function serve(name: string): Promise<void> {
  const service = start(['authority', 'start', '--env-file', `${name}/authority.env`])
  services.set(name, service)
  const end = performance.now() + 60_000
  while ((await chancery(`node list --quiet --home ${name}`)).code !== 0)
    if (service.exitCode !== null || performance.now() > end) throw new Error(`the authority of ${name} does not serve`)
}

async function stop(name: string): Promise<void> {
  const service = services.get(name)
  if (service === undefined || service.exitCode !== null) return
  const ended = once(service, 'exit')
  service.kill('SIGTERM')
  await ended
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-advice-'))
  for (const name of ['own', 'partner']) {
    const port = await freePort()
    values[name] = `http://127.0.0.1:${port}`
    await done(`init --home ${name} --network ${name.toUpperCase()}-NET --port ${port}`)
    await appendFile(
      join(folder, name, 'authority.env'),
      `EVIDENCE_STORE=on\nNA_HIGH_WATER_FILES=${folder}/${name}.mark\nNA_PARTNER_ADDRESSES=loopback\n`,
    )
    await serve(name)
  }
  await done('keygen authority --out next --key-id next')
  await done('keygen operator --out second --key-id second')
  await done('policy new --name spending')
  await done('partner add <partner> --genesis partner/genesis.json --role role:client --yes --home own')
  await done(`partner add <partner> --root-key partner/keys/root.pub --allow-http --home own`)
  await done('invite rule add fleet --expired-certificates --grace 4h --role role:client --home own')
  database = await createTestDatabase('postgres')
  const lines = (await readFile(join(folder, 'own', 'authority.env'), 'utf8')).split('\n')
  const kept = lines.filter((line) => !line.startsWith('DB_PATH='))
  const others = Object.entries(database.settings).map(([setting, value]) => `${setting}=${value}`)
  await writeFile(join(folder, 'own', 'postgres.env'), [...kept, ...others].join('\n'), { mode: 0o600 })
  await done('evidence export --out export.jsonl --home own')
}, 180_000)

afterAll(async () => {
  for (const service of services.values()) service.kill('SIGKILL')
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const OPERATOR = '--home own'
const HOST = '--env-file own/authority.env'

/**
 * The advised commands, as an operator completes them, in an order in which they work. With a text the command ends with
 * code 1, because this network does not have the problem.
 */
const RUNS: readonly (readonly [line: string, saysOtherwise?: RegExp])[] = [
  [`doctor ${HOST}`, /bad +peer-feed/],
  ['keygen operator --out third --key-id third'],
  [`operator add second --key second.pub --tier privileged ${OPERATOR}`],
  [`authority audit ${HOST}`],
  [`authority backup ${HOST} --out backup`],
  [`authority verify ${HOST}`],
  [`authority recover --evidence export.jsonl ${HOST}`, /no evidence is missing/],
  [`authority recover ${HOST}`, /the database is not rolled back/],
  [`authority recover ${HOST} --presented --unknown adopt`],
  [`authority resign-lists --at <now> ${HOST}`, /neither list nor feed is dated over 300 s ahead/],
  [
    'genesis succeed --genesis own/genesis.json --authority-key next.pub --former-key-id na-local --root-private-key own/keys/root.key --out next.json --out-history history.json',
  ],
  [`evidence anchor ${OPERATOR}`],
  [`evidence witnesses ${OPERATOR}`],
  [`policy publish spending.policy.yaml ${OPERATOR}`],
  [`policy list ${OPERATOR}`],
  [`partner list --state alarm ${OPERATOR}`],
  [`partner list --state stale ${OPERATOR}`],
  [`partner pull PARTNER-NET ${OPERATOR}`],
  [`partner import-feed <partner> ${OPERATOR}`],
  [`invite withdraw fleet --yes ${OPERATOR}`],
  [`treaty list ${OPERATOR}`],
  [`treaty renew <treaty> ${OPERATOR}`],
  [`treaty renew <treaty> --key partner/keys/network-authority.pub --key next.pub --yes ${OPERATOR}`],
  // What the first run found is repaired by what was advised.
  [`doctor ${HOST}`],
  [`treaty revoke <treaty> --yes ${OPERATOR}`],
  ['authority migrate --from own/authority.db --restart --home own/postgres.env'],
]

/** Messages of a program that is started, and no findings. */
const NO_ADVICE = ['gateway start']

describe('the advised commands', () => {
  it('are all run here, with the options that are advised', () => {
    const unrun = advised.filter(({ command }) => {
      const words = command.split(' ')
      const path = commandOf(words)?.path ?? []
      const options = words.filter((word) => word.startsWith('--'))
      const isRun = RUNS.some(
        ([line]) => `${line} `.startsWith(`${path.join(' ')} `) && options.every((option) => line.includes(option)),
      )
      return !isRun && !NO_ADVICE.includes(path.join(' '))
    })
    expect(advised.length).toBeGreaterThan(20)
    expect(unrun).toEqual([])
  })

  it.each(RUNS.map(([line, saysOtherwise]) => ({ line, saysOtherwise })))('$line', async ({ line, saysOtherwise }) => {
    values['now'] = new Date().toISOString()
    if (line.startsWith('authority migrate')) await stop('own')
    else if (line.includes('<treaty>')) values['treaty'] = await findTreaty()
    const { code, text } = await chancery(line)
    expect(text).toMatch(saysOtherwise ?? /./)
    expect([code, text]).toEqual([saysOtherwise === undefined ? 0 : 1, text])
  })
})

/** The active one: renewing and replacing make another. */
async function findTreaty(): Promise<string> {
  const [, id] = /^([\da-f-]{36}) .* active/m.exec(await done(`treaty list ${OPERATOR}`)) ?? []
  if (id === undefined) throw new Error('no treaty is active')
  return id
}
