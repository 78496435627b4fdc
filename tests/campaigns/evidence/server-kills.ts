import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestNetwork, startAuthorityProcess, startTemporaryPostgres } from '@chancery/testkit'
import type { AuthorityProcess, TemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type EvidenceAcks, SETTINGS, inspectGoingOn, inspectStore, noEvidenceAcks, served } from './kills.ts'
import { EvidenceScenario, decisionOf } from './scenario.ts'
import { seededRandom } from '../lib/random.ts'

export const summary = 'kill -9 of the PostgreSQL server under a store that is being written to; nothing acked is lost'
export const defaultCount = 5

const CALLERS = 8
const RECOVERY_SECONDS = 60

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const network = await createTestNetwork('KILL-NET')
  const server = await startTemporaryPostgres()
  const violations: string[] = []
  try {
    const process = await startAuthorityProcess({ network, settings: { DATABASE_URL: server.url, ...SETTINGS } })
    const acked = noEvidenceAcks()
    try {
      for (let kill = 1; kill <= count; kill += 1) {
        await loadAndKill(process, server, acked, 1000 + random.below(2000))
        await awaitServing(process)
        const found = [...(await inspectStore(process, acked)), ...(await inspectGoingOn(process))]
        violations.push(...found.map((sentence) => `kill ${kill}: ${sentence}`))
        log(`${kill} kills, ${acked.decisions.size + acked.executions.size} acks, ${violations.length} violations`)
      }
    } finally {
      await process.stop()
    }
  } finally {
    await server.remove()
    await network.remove()
  }
  for (const violation of violations.slice(0, 20)) log(`violation: ${violation}`)
  return { cases: count, violations: violations.length }
}

/** Callers continue while the server is killed and restarted. A call without a response counts as not acknowledged. */
async function loadAndKill(
  process: AuthorityProcess,
  server: TemporaryPostgres,
  acked: EvidenceAcks,
  milliseconds: number,
): Promise<void> {
  const scenario = await EvidenceScenario.open(served(process, 0))
  let isOver = false
  const caller = async (): Promise<void> => {
    while (!isOver) {
      const answer = await scenario.decide()
      if (answer.status !== 201) await pause(50)
      else {
        const decision = decisionOf(answer)
        acked.decisions.add(decision.decision_id)
        if ((await scenario.execute(decision)).status === 201) acked.executions.add(decision.decision_id)
      }
    }
  }
  const callers = Promise.allSettled(Array.from({ length: CALLERS }, caller))
  const side = setInterval(() => void scenario.anchor().catch(() => undefined), 100)
  await pause(milliseconds)
  await killServer(server.url)
  await startAgain(server)
  await pause(1000)
  isOver = true
  clearInterval(side)
  const outcomes = await callers
  const lost = outcomes.find((outcome) => outcome.status === 'rejected')
  if (lost !== undefined) throw new Error('a caller could not reach the authority', { cause: lost.reason })
}

/** Waits for its last process: until then the server refuses to start, because the shared memory is in use. */
async function startAgain(server: TemporaryPostgres): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await pause(500)
    try {
      return await server.start()
    } catch (error) {
      if (tries === 20) throw error
    }
  }
}

/** Kills the server and all its processes at once, as in a power failure. */
async function killServer(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ text: string }>("select pg_read_file('postmaster.pid') as text")
  const parent = Number(rows[0]?.text.split('\n')[0])
  const children = await childrenOf(parent)
  for (const pid of [parent, ...children]) endProcess(pid)
  await client.end().catch(() => undefined)
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '')
    if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent) found.push(Number(name))
  }
  return found
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process ended with the others.
  }
}

async function awaitServing(authority: AuthorityProcess): Promise<void> {
  const deadline = performance.now() + RECOVERY_SECONDS * 1000
  while (performance.now() < deadline) {
    if ((await authority.request('GET', '/readyz')).status === 200) return
    await pause(100)
  }
  throw new Error(`the authority does not serve ${RECOVERY_SECONDS} s after its database came back`)
}
