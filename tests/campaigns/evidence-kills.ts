import { setTimeout as pause } from 'node:timers/promises'
import { writeInstant } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { EndedAtStart, createTestDatabase, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, Backend, SendOptions, TestDatabase, TestNetwork } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { EvidenceStory, decisionOf, objectOf } from './evidence-story.ts'
import { startOwnServer } from './own-server.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'

export const summary =
  'kill -9 of an authority at named points of append, anchor, log and retention; nothing acked is lost'
export const defaultCount = 200

/** The points of apps/authority/src/faults.ts. */
export const POINTS = [
  'evidence-locked',
  'evidence-inserted',
  'evidence-audited',
  'evidence-committed',
  'anchor-checked',
  'anchor-signed',
  'anchor-stored',
  'anchor-committed',
  'log-tiles-stored',
  'log-checkpoint-stored',
  'retention-found',
  'retention-verified',
  'retention-signed',
  'retention-stored',
  'retention-committed',
  'retention-swept',
] as const

const LOAD_SECONDS = 30
const THREE_DAYS_MS = 3 * 86_400_000
export const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  NA_CLOCK_CHECK: 'off',
  NA_GENESIS_WINDOW: 'warn',
}

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('KILL-NET')
  const random = seededRandom(options.seed)
  const server = await startOwnServer()
  const violations: string[] = []
  let acked = 0
  try {
    for (let kill = 0; kill < options.count; kill += 1) {
      const backend: Backend = kill % 2 === 0 ? 'sqlite' : 'postgres'
      const point = POINTS[(kill >> 1) % POINTS.length] ?? POINTS[0]
      const database = await (backend === 'sqlite' ? createTestDatabase('sqlite') : server.createDatabase())
      const victim = new Victim(network, database)
      try {
        const found = await victim.kill(point, random)
        violations.push(...found.map((sentence) => `${backend} at ${point}: ${sentence}`))
        acked += victim.acked.size
      } finally {
        await database.drop()
      }
      if (kill % 10 === 9) options.log(`${kill + 1} kills, ${acked} acks, ${violations.length} violations`)
    }
  } finally {
    await server.remove()
    await network.remove()
  }
  for (const violation of violations.slice(0, 20)) options.log(`violation: ${violation}`)
  return { cases: options.count, violations: violations.length }
}

/** One database: filled three days ago, loaded and killed today, then looked at. */
class Victim {
  readonly #network: TestNetwork
  readonly #database: TestDatabase
  /** Decisions of today that somebody was answered. Those of three days ago may be removed by retention. */
  readonly acked = new Set<string>()

  constructor(network: TestNetwork, database: TestDatabase) {
    this.#network = network
    this.#database = database
  }

  async kill(point: string, random: Random): Promise<string[]> {
    if (point.startsWith('retention-')) await this.#fill()
    const before = random.below(point.startsWith('evidence-') ? 8 : 2)
    const fault = {
      CHANCERY_FAULT_POINT: point,
      CHANCERY_FAULT_AFTER: String(point.startsWith('retention-') ? 0 : before),
    }
    const violations = await this.#loadUntilDead(fault)
    return [...violations, ...(await this.#inspect())]
  }

  #start(more: Readonly<Record<string, string>> = {}): Promise<AuthorityProcess> {
    const clock = new URL('moved-clock.ts', import.meta.url).href
    return startAuthorityProcess({
      network: this.#network,
      settings: { ...this.#database.settings, ...SETTINGS, ...more },
      execArgv: ['--import', clock],
    })
  }

  /** Old entries for retention to remove. */
  async #fill(): Promise<void> {
    const process = await this.#start({ CHANCERY_MOVED_CLOCK_MS: String(-THREE_DAYS_MS) })
    try {
      const story = await EvidenceStory.open(served(process, -THREE_DAYS_MS))
      for (let count = 0; count < 4; count += 1) await story.execute(decisionOf(await story.decide()))
      await story.anchor()
    } finally {
      await process.stop()
    }
  }

  async #loadUntilDead(fault: Readonly<Record<string, string>>): Promise<string[]> {
    let process: AuthorityProcess
    try {
      process = await this.#start(fault)
    } catch (error) {
      // Its own jobs sign the first checkpoint of the log: that point may be met before anyone is served.
      if (error instanceof EndedAtStart && error.ending === 'SIGKILL') return []
      throw error
    }
    const deadline = performance.now() + LOAD_SECONDS * 1000
    let isDead = false
    void process.exited.then(() => {
      isDead = true
    })
    const story = await EvidenceStory.open(served(process, 0)).catch(() => undefined)
    while (!isDead && performance.now() < deadline && story !== undefined) await this.#round(story)
    await process.kill()
    const ending = await process.exited
    return [
      ...(performance.now() < deadline ? [] : ['the point was never met']),
      ...(ending === 'SIGKILL' ? [] : [`ended by ${ending}`]),
    ]
  }

  /** Several at once, so that a batch has more than one. Whoever gets no answer was never acknowledged. */
  async #round(story: EvidenceStory): Promise<void> {
    const work = Array.from({ length: 4 }, async () => {
      const answer = await story.decide()
      if (answer.status !== 201) return
      const decision = decisionOf(answer)
      this.acked.add(decision.decision_id)
      await story.execute(decision)
    })
    await Promise.allSettled([...work, story.anchor(), story.retain()])
    await pause(20)
  }

  async #inspect(): Promise<string[]> {
    const process = await this.#start()
    try {
      return await inspectStore(process, this.acked)
    } finally {
      await process.stop()
    }
  }
}

/** Everything acknowledged is there once, chain, anchors and log hold, and the store goes on. */
export async function inspectStore(process: AuthorityProcess, acked: ReadonlySet<string>): Promise<string[]> {
  const { operator, request } = served(process, 0)
  const violations: string[] = []
  const report = objectOf(await operator('GET', '/admin/evidence/verify'))
  if (report['verified'] !== true) violations.push(`the store does not verify: ${JSON.stringify(report['failures'])}`)
  for (const id of acked) {
    const page = objectOf(await operator('GET', `/admin/evidence?decision_id=${id}&entry_kind=decision`))
    if (page['count'] !== 1) violations.push(`decision ${id} was acknowledged and is not there`)
  }
  violations.push(...(await inspectLog(request, objectOf(await operator('GET', '/admin/evidence/status')))))
  const story = await EvidenceStory.open(served(process, 0))
  if ((await story.decide()).status !== 201) violations.push('no decision can be stored afterwards')
  return violations
}

/** The log catches up by itself, and never says more than the store holds. */
async function inspectLog(request: AuthorityProcess['request'], status: JsonObject): Promise<string[]> {
  const last = Number(status['last_store_sequence'] ?? 0)
  for (let tries = 0; tries < 100; tries += 1) {
    const { text } = await request('GET', '/evidence-log/checkpoint')
    const size = Number(text.split('\n')[1])
    if (size > last) return [`the log has ${size} entries, the store ${last}`]
    if (size === last) return []
    await pause(100)
  }
  return ['the log does not catch up']
}

export function served(process: AuthorityProcess, offsetMs: number) {
  const call = process.as('privileged')
  return {
    request: (method: string, target: string, options?: SendOptions) => process.request(method, target, options),
    operator: (method: string, target: string, body?: JsonObject) =>
      call(method, target, body, { timestamp: writeInstant(systemClock.now() + BigInt(offsetMs) * 1000n) }),
  }
}
