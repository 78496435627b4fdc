import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestDatabase, createTestNetwork, operatorCaller, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, TestNetwork, TestResponse } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { HostilePartner } from './hostile-partner.ts'

export const summary =
  'partners that answer with malicious material: no state gets worse, memory and event loop are bounded'
/** Number of malicious answers. An even seed runs on SQLite, an odd one on PostgreSQL. */
export const defaultCount = 2000

const PARTNERS = 8
const SLOW_EVERY = 25
const STEP_SECONDS = 11
const MAX_TURN_MS = 50
const MAX_RSS_MIB = 700
const MAX_PRINTED = 20
const MODULES = ['../lib/moved-clock.ts', '../lib/loop-turns.ts']

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-hostile-'))
  const network = await createTestNetwork('VICTIM-NET')
  const database = await createTestDatabase(seed % 2 === 0 ? 'sqlite' : 'postgres')
  const clock = new MovedClock(join(folder, 'clock'))
  await clock.move(0)
  const loopFile = join(folder, 'loop.json')
  const settings = {
    ...database.settings,
    CHANCERY_MOVED_CLOCK_FILE: clock.file,
    CHANCERY_LOOP_FILE: loopFile,
    NA_CLOCK_CHECK: 'off',
    NA_PARTNER_ADDRESSES: 'loopback',
    NA_FOREIGN_FEED_MAX_AGE_SECONDS: '0',
  }
  const execArgv = MODULES.flatMap((module) => ['--import', new URL(module, import.meta.url).href])
  const na = await startAuthorityProcess({ network, settings, execArgv })
  const trap = await startTrap()
  const partners: HostilePartner[] = []
  try {
    const random = seededRandom(seed)
    const call = callerOf(na, network, clock)
    for (let i = 0; i < PARTNERS; i += 1)
      partners.push(
        await HostilePartner.open({ name: `PARTNER-${i}`, call, now: () => clock.now(), trap: trap.url }, random),
      )
    await rm(loopFile, { force: true })
    let [cases, round, peak] = [0, 0, 0]
    while (cases < count) {
      round += 1
      await clock.move(STEP_SECONDS)
      const used = partners.slice(0, count - cases)
      const made = await Promise.all(used.map((partner) => partner.attack(round % SLOW_EVERY === 0)))
      cases += made.reduce((sum, number) => sum + number, 0)
      peak = Math.max(peak, await memoryOf(na.pid))
    }
    await clock.move(STEP_SECONDS)
    await Promise.all(partners.map((partner) => partner.recover()))
    const loop = JSON.parse(await readFile(loopFile, 'utf8')) as { longest_turn_ms: number }
    const found = partners.flatMap((partner) => partner.found)
    if (trap.calls() > 0) found.push(`${trap.calls()} calls to an address inside a document`)
    if (peak > MAX_RSS_MIB) found.push(`${Math.round(peak)} MiB of memory`)
    if (loop.longest_turn_ms > MAX_TURN_MS) found.push(`the event loop was busy for ${loop.longest_turn_ms} ms`)
    for (const line of found.slice(0, MAX_PRINTED)) log(`violation: ${line}`)
    log(JSON.stringify({ ...loop, peak_mib: Math.round(peak), outcomes: outcomesOf(partners) }))
    return { cases, violations: found.length }
  } finally {
    await na.stop()
    await Promise.all(partners.map((partner) => partner.close()))
    await trap.close()
    await database.drop()
    await network.remove()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Moves the clock of the authority, so that the pause between two pulls passes at once. */
class MovedClock {
  readonly file: string
  #offsetMs = 0

  constructor(file: string) {
    this.file = file
  }

  now(): bigint {
    return systemClock.now() + BigInt(this.#offsetMs) * 1000n
  }

  async move(seconds: number): Promise<void> {
    this.#offsetMs += seconds * 1000
    await writeFile(this.file, String(this.#offsetMs))
  }
}

export type Call = (method: 'GET' | 'POST', target: string, body?: JsonObject) => Promise<TestResponse>

const MAX_OVERLOADS = 20

/** The clock of the authority follows a little later, and a busy machine exceeds deadlines: the request is repeated. */
function callerOf(na: AuthorityProcess, network: TestNetwork, clock: MovedClock): Call {
  const signed = operatorCaller(na.url, network.operators.privileged, network.authority.publicKey, () => clock.now())
  return async (method, target, body) => {
    for (let overloads = 0; ;) {
      const answer = await (method === 'GET' ? signed(method, target) : signed(method, target, body ?? {}))
      if (answer.status === 503) overloads += 1
      else if (answer.status !== 429 && answer.status !== 409) return answer
      if (overloads === MAX_OVERLOADS) return answer
      if (answer.status === 409 && !answer.text.includes('pull_in_progress')) return answer
      await pause(20)
    }
  }
}

async function startTrap(): Promise<{ readonly url: string; calls(): number; close(): Promise<void> }> {
  let calls = 0
  const server = createServer((_request, response) => {
    calls += 1
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

function outcomesOf(partners: readonly HostilePartner[]): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const { outcomes } of partners)
    for (const [outcome, count] of outcomes) sums[outcome] = (sums[outcome] ?? 0) + count
  return sums
}
