import { setTimeout as pause } from 'node:timers/promises'
import { type AuthorityProcess, type TemporaryPostgres, startTemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import { type EvidenceAcks, inspectGoingOn, inspectStore, noEvidenceAcks, served } from '../evidence/kills.ts'
import { EvidenceScenario, decisionOf } from '../evidence/scenario.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import type { Random } from '../lib/random.ts'
import { type FaultSetup, runFaultCases } from './fault-checks.ts'
import { openFaultInstances } from './fault-instances.ts'

export const summary =
  'kill -9 of PostgreSQL, or of one of its processes, under the load of three instances, and of callers who store evidence'
export const defaultCount = 24

/** Of the evidence, besides those of the recorder. */
const CALLERS = 8
const READY_SECONDS = 60

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runFaultCases(options, openSetup)
}

async function openSetup(): Promise<FaultSetup> {
  const server = await startTemporaryPostgres()
  const instances = await openFaultInstances({ databaseUrl: () => server.url })
  const acked = noEvidenceAcks()
  return {
    instances,
    databaseUrl: () => server.url,
    async breakAndMend(index, random) {
      if (index % 3 === 1) return killOne(server)
      if (index % 3 === 2) {
        const authority = instances.processes[random.below(instances.processes.length)] as AuthorityProcess
        try {
          await killUnderEvidence(authority, server, acked, random)
          await instances.awaitReady(READY_SECONDS)
          return [...(await inspectStore(authority, acked)), ...(await inspectGoingOn(authority))]
        } catch (error) {
          // An authority that lost what it acknowledged refuses everything.
          return [String(error)]
        }
      }
      await server.kill()
      await pause(random.below(500))
      await server.start()
      return []
    },
    async close() {
      await instances.close()
      await server.remove()
    },
  }
}

/** Kills one server process of an instance. The server then ends all others, too, and recovers without help. */
async function killOne(server: TemporaryPostgres): Promise<string[]> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const busy = `select pid from pg_stat_activity where application_name = 'chancery-authority' order by state limit 1`
    const { rows } = await client.query<{ pid: number }>(busy)
    const pid = rows[0]?.pid
    if (pid === undefined) return ['no process of the server works for an instance']
    process.kill(pid, 'SIGKILL')
    return []
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Callers store evidence while the server is killed. A call without a response counts as not acknowledged. */
async function killUnderEvidence(
  authority: AuthorityProcess,
  server: TemporaryPostgres,
  acked: EvidenceAcks,
  random: Random,
): Promise<void> {
  const scenario = await EvidenceScenario.open(served(authority, 0))
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
  await pause(1000 + random.below(2000))
  await server.kill()
  await server.start()
  await pause(1000)
  isOver = true
  clearInterval(side)
  const outcomes = await callers
  const lost = outcomes.find((outcome) => outcome.status === 'rejected')
  if (lost !== undefined) throw new Error('a caller could not reach the authority', { cause: lost.reason })
}
