import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readGenesisBlock, readJson, writePrivateKeyFile } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  FIRST_KEY,
  childPids,
  createPostgres,
  createTestNetwork,
  enroll,
  isRunning,
  newNodeCaller,
  signSuccession,
  startAuthorityProcess,
  testSeed,
} from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { commands } from '../index.ts'

const PATIENT = { timeout: 90_000 }
const SETTINGS = { NA_WORKERS: '2', NA_DRAIN_SECONDS: '0', NA_CLOCK_CHECK: 'off', LOG_LEVEL: 'info' }
const READS = 20

let network: TestNetwork
let database: TestDatabase
let authority: AuthorityProcess | undefined

beforeEach(async () => {
  network = await createTestNetwork('WORKERS-NET')
})
afterEach(async () => {
  await authority?.kill()
  authority = undefined
  await database.drop()
  await network.remove()
})

const serving = (): number[] =>
  (authority?.log ?? [])
    .filter((line) => line.includes('"worker serves"'))
    .map((line) => (JSON.parse(line) as { pid: number }).pid)

/** Completed reads of the list in all workers. */
const reads = async (): Promise<number> => {
  const { text } = (await authority?.request('GET', '/metrics')) ?? { text: '' }
  const [, count] =
    /^chancery_http_request_duration_seconds_count\{route="GET \/crl",status="200"\} (\d+)$/m.exec(text) ?? []
  return Number(count ?? 0)
}

it('two workers serve on PostgreSQL, one goes on when the other is killed, and SIGTERM ends all', async () => {
  database = await createPostgres()
  authority = await startAuthorityProcess({ network, settings: { ...SETTINGS, ...database.settings } })
  await expect.poll(() => serving().length, PATIENT).toBe(2)
  const workers = serving()
  expect(childPids(authority.pid).toSorted()).toEqual(workers.toSorted())

  for (let read = 0; read < READS; read += 1) expect((await authority.request('GET', '/crl')).status).toBe(200)
  // Connections go to the workers in turn, so each of them counted a part, and each shows the sum.
  for (let scrape = 0; scrape < 4; scrape += 1) expect(await reads()).toBe(READS)

  const [first = 0, second = 0] = workers
  process.kill(first, 'SIGKILL')
  await expect.poll(() => isRunning(first), PATIENT).toBe(false)
  const call = authority.as('standard')
  // A connection that was on its way to the killed worker is closed.
  const invite = async (): Promise<number | undefined> =>
    (await call('POST', '/admin/invite', {}).catch(() => undefined))?.status
  await expect.poll(invite, PATIENT).toBe(201)
  expect(isRunning(second)).toBe(true)
  await expect.poll(() => serving().length, PATIENT).toBe(3)
  expect(await reads()).toBe(READS)

  await authority.stop()
  expect(await authority.exited).toBe(0)
  expect(serving().filter(isRunning)).toEqual([])
}, 120_000)

it('one of two workers acknowledges a gathered heartbeat that both get', async () => {
  database = await createPostgres()
  const settings = { ...SETTINGS, ...database.settings, NA_HEARTBEAT_MODE: 'gathered' }
  authority = await startAuthorityProcess({ network, settings })
  await expect.poll(() => serving().length, PATIENT).toBe(2)
  const { url, request } = authority
  const node = await newNodeCaller(url, 'twice', systemClock)
  const { cert_id } = await enroll(authority, node)
  for (let round = 0; round < 3; round += 1) {
    const body = await node.prove({ cert_id, status: 'healthy' })
    const answers = await Promise.all(Array.from({ length: 8 }, () => request('POST', '/heartbeat', { body })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(7).fill(401)])
  }
}, 120_000)

it('two workers switch to the next key together, while calls that sign go on', async () => {
  database = await createPostgres()
  const keyFile = network.settings['NA_PRIVATE_KEY_FILE'] ?? ''
  const settings = { ...SETTINGS, ...database.settings, NA_HIGH_WATER_FILES: join(dirname(keyFile), 'mark') }
  authority = await startAuthorityProcess({ network, settings })
  const { as, request } = authority
  await expect.poll(() => serving().length, PATIENT).toBe(2)
  await expect.poll(async () => (await request('GET', '/crl')).status, PATIENT).toBe(200)
  const genesis = readGenesisBlock(readJson((await request('GET', '/genesis')).text))
  const key = { keyId: 'na-2', seed: 'na-2' }
  const { settings: signed } = await signSuccession(
    dirname(keyFile),
    { genesis, key: FIRST_KEY },
    key,
    systemClock.now(),
  )
  await writeFile(join(dirname(keyFile), 'na-2.key'), writePrivateKeyFile(testSeed('na-2')), { mode: 0o600 })
  const envFile = join(dirname(keyFile), 'authority.env')
  const lines = Object.entries({ ...network.settings, ...settings }).map(([name, value]) => `${name}=${value}`)
  await writeFile(envFile, lines.join('\n'), { mode: 0o600 })
  const rotate = (more: object = {}): Promise<number> =>
    commands.rotateKey({ flags: {}, envFile, confirm: () => Promise.resolve(true), ...more })

  let isLoaded = true
  const statuses: number[] = []
  const load = Array.from({ length: 4 }, async (_none, caller) => {
    for (let turn = 0; isLoaded; turn += 1) {
      const { status } = await as('privileged')('POST', '/admin/policy', { policy_id: `p-${caller}-${turn}` })
      statuses.push(status, (await request('GET', '/crl')).status)
    }
  })
  const [genesisFile, historyFile] = [signed['GENESIS_FILE'] ?? '', signed['NA_KEY_HISTORY_FILE'] ?? '']
  expect(await rotate({ next: { keyId: 'na-2', genesisFile, historyFile } })).toBe(0)
  // Connections go to the workers in turn.
  const keysInUse = async (): Promise<string[]> => {
    const reads = await Promise.all([1, 2, 3, 4].map(() => request('GET', '/readyz')))
    const read = reads.map(({ text }) => JSON.parse(text) as { instance: string; signing_key: { key_id: string } })
    return [...new Set(read.map((each) => `${each.instance.slice(-2)} ${each.signing_key.key_id}`))].toSorted()
  }
  await expect.poll(keysInUse, PATIENT).toEqual(['-1 na-2', '-2 na-2'])
  isLoaded = false
  await Promise.all(load)
  expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([])
  expect(statuses.length).toBeGreaterThan(20)
  // A worker that replaces another reads the settings of before the switch.
  const [killed] = childPids(authority.pid)
  if (killed === undefined) throw new Error('no worker')
  process.kill(killed, 'SIGKILL')
  await expect.poll(() => isRunning(killed), PATIENT).toBe(false)
  await expect.poll(keysInUse, PATIENT).toEqual(['-1 na-2', '-2 na-2'])
  expect((await as('standard')('POST', '/admin/invite', {})).status).toBe(201)
}, 120_000)
