import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject, type JsonObject, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, SendOptions, TestNetwork, TestResponse } from '@chancery/testkit'
import { decisionOf, EvidenceScenario, objectOf } from '../evidence/scenario.ts'
import { type CampaignOptions, type CampaignResult, runCases } from '../lib/campaign.ts'
import { type OwnServer, startOwnServer } from '../lib/private-postgres.ts'

export const summary = 'an instance is paused while it holds a lease; another takes over; the late writes must fail'
export const defaultCount = 5

/** Where the lease holder is paused: between its steps, or inside the writing transaction. */
const POINTS = [
  'retention-found',
  'retention-verified',
  'retention-signed',
  'retention-stored',
  'retention-committed',
] as const
const DAY_MS = 86_400_000
/** For the other instances the lease of the paused one has ended. */
const LATER_MS = 400_000
const TAKEOVER_SECONDS = 40
const PAUSE_SECONDS = 15
const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  NA_CLOCK_CHECK: 'off',
  NA_GENESIS_WINDOW: 'warn',
}

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('PAUSE-NET')
  const server = await startOwnServer()
  try {
    return await runCases(options, async (index) => {
      const point = POINTS[(options.seed + index) % POINTS.length] ?? POINTS[0]
      return (await pauseAt(point, network, server)).map((sentence) => `paused at ${point}: ${sentence}`)
    })
  } finally {
    await server.remove()
    await network.remove()
  }
}

async function pauseAt(point: string, network: TestNetwork, server: OwnServer): Promise<string[]> {
  const database = await server.createDatabase()
  const start = (offsetMs: number, more: Readonly<Record<string, string>> = {}): Promise<Served> =>
    serve(network, offsetMs, { ...database.settings, ...SETTINGS, ...more })
  const processes: Served[] = []
  try {
    await fill(await start(-3 * DAY_MS))
    const fault = { CHANCERY_FAULT_POINT: point, CHANCERY_FAULT_SIGNAL: 'SIGSTOP' }
    const holder = await start(0, fault)
    processes.push(holder)
    const successor = await start(LATER_MS)
    processes.push(successor)
    const late = holder.retain()
    if (!(await isPaused(holder.process.pid))) return ['the point was never met']
    const taken = await takeOver(successor)
    process.kill(holder.process.pid, 'SIGCONT')
    return [...checkResponses(await late, taken), ...(await inspect(successor))]
  } finally {
    for (const each of processes) await each.process.kill()
    await database.drop()
  }
}

/** Old entries for retention to remove. */
async function fill(served: Served): Promise<void> {
  try {
    const scenario = await EvidenceScenario.open(served)
    for (let count = 0; count < 3; count += 1) await scenario.execute(decisionOf(await scenario.decide()))
  } finally {
    await served.process.stop()
  }
}

/** The paused instance may have locks. The database ends its transaction after ten seconds. */
async function takeOver(successor: Served): Promise<TestResponse | undefined> {
  const end = performance.now() + TAKEOVER_SECONDS * 1000
  while (performance.now() < end) {
    const answer = await successor.retain()
    if (answer.status === 200) return answer
    await pause(200)
  }
  return undefined
}

/** At most one response may report removed entries. `inspect` checks that the store was changed once. */
function checkResponses(late: TestResponse, taken: TestResponse | undefined): string[] {
  if (taken === undefined) return [`no instance took over within ${TAKEOVER_SECONDS} s`]
  const [first, second] = [removedBy(late), removedBy(taken)]
  const violations: string[] = []
  if (![200, 409, 503].includes(late.status)) violations.push(`the paused one answered ${late.status} ${late.text}`)
  if (first > 0 && second > 0) violations.push(`removed twice: ${first} and ${second}`)
  return violations
}

function removedBy(answer: TestResponse): number {
  return answer.status === 200 && isJsonObject(answer.json) ? Number(answer.json['removed_count']) : 0
}

async function inspect(served: Served): Promise<string[]> {
  const report = objectOf(await served.operator('GET', '/admin/evidence/verify'))
  if (report['verified'] !== true) return [`the store does not verify: ${JSON.stringify(report['failures'])}`]
  const page = objectOf(await served.operator('GET', '/admin/evidence?entry_kind=retention_checkpoint'))
  return page['count'] === 1 ? [] : [`${JSON.stringify(page['count'])} checkpoints for one prefix`]
}

/** True when the kernel reports the process as stopped. */
async function isPaused(pid: number): Promise<boolean> {
  const end = performance.now() + PAUSE_SECONDS * 1000
  while (performance.now() < end) {
    if (/^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return true
    await pause(10)
  }
  return false
}

interface Served {
  readonly process: AuthorityProcess
  request(method: string, target: string, options?: SendOptions): Promise<TestResponse>
  operator(method: string, target: string, body?: JsonObject): Promise<TestResponse>
  retain(): Promise<TestResponse>
}

/** An instance with a moved clock, and an operator with the same clock. */
async function serve(
  network: TestNetwork,
  offsetMs: number,
  settings: Readonly<Record<string, string>>,
): Promise<Served> {
  const process = await startAuthorityProcess({
    network,
    settings: { ...settings, CHANCERY_MOVED_CLOCK_MS: String(offsetMs) },
    execArgv: ['--import', new URL('../lib/moved-clock.ts', import.meta.url).href],
  })
  const operator: Served['operator'] = (method, target, body) =>
    process.as('privileged')(method, target, body, {
      timestamp: writeInstant(systemClock.now() + BigInt(offsetMs) * 1000n),
    })
  return {
    process,
    request: (method, target, options) => process.request(method, target, options),
    operator,
    retain: () => operator('POST', '/admin/evidence/retention/apply', { older_than_days: 1 }),
  }
}
