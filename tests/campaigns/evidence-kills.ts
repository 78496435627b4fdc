import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
const TWO_DAYS_MS = 2 * 86_400_000
/** A chain is read from its beginning after every kill. */
const KILLS_PER_DATABASE = 16
const MOVED_CLOCK = new URL('moved-clock.ts', import.meta.url).href
/** Processes look every 20 ms. */
const CLOCK_SETTLES_MS = 60
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
  const victims = [
    new Victim('sqlite', network, () => createTestDatabase('sqlite')),
    new Victim('postgres', network, () => server.createDatabase()),
  ]
  const found = (): string[] => victims.flatMap((victim) => victim.violations)
  try {
    // Side by side: most of a kill is the waiting of the next start.
    await Promise.all(
      victims.map(async (victim, engine) => {
        for (let kill = engine; kill < options.count; kill += victims.length) {
          await victim.kill(POINTS[(kill >> 1) % POINTS.length] ?? POINTS[0], random)
          const acks = victims.reduce((sum, each) => sum + each.acks, 0)
          if (kill % 20 === 19) options.log(`${kill + 1} kills, ${acks} acks, ${found().length} violations`)
        }
        await victim.finish()
      }),
    )
  } finally {
    for (const victim of victims) await victim.close()
    await server.remove()
    await network.remove()
  }
  for (const violation of found().slice(0, 20)) options.log(`violation: ${violation}`)
  return { cases: options.count, violations: found().length }
}

/** One engine, killed again and again; every start shows what is left after the kill before. */
class Victim {
  readonly violations: string[] = []
  acks = 0
  readonly #backend: Backend
  readonly #network: TestNetwork
  readonly #createDatabase: () => Promise<TestDatabase>
  #database: TestDatabase | undefined
  #folder: string | undefined
  /** How far the time of this database has moved on, so that retention finds something old. */
  #offsetMs = 0
  #kills = 0
  #last = 'its first start'
  /** Decisions somebody was answered, and that nobody has asked for since. */
  #acked = new Set<string>()

  constructor(backend: Backend, network: TestNetwork, createDatabase: () => Promise<TestDatabase>) {
    this.#backend = backend
    this.#network = network
    this.#createDatabase = createDatabase
  }

  async kill(point: string, random: Random): Promise<void> {
    if (this.#kills % KILLS_PER_DATABASE === 0) await this.finish()
    this.#kills += 1
    const before = point.startsWith('retention-') ? 0 : random.below(point.startsWith('evidence-') ? 8 : 2)
    const fault = { CHANCERY_FAULT_POINT: point, CHANCERY_FAULT_AFTER: String(before) }
    const name = `${this.#backend} at ${point}`
    let process: AuthorityProcess
    try {
      process = await this.#start(fault)
    } catch (error) {
      // Its own jobs sign the first checkpoint of the log: that point may be met before anyone is served.
      if (error instanceof EndedAtStart && error.ending === 'SIGKILL') return
      throw error
    }
    const [deadline, life] = [performance.now() + LOAD_SECONDS * 1000, { isOver: false }]
    void process.exited.then(() => {
      life.isOver = true
    })
    await this.#inspect(process, life)
    if (point.startsWith('retention-')) await this.#growOld(process)
    const story = await EvidenceStory.open(served(process, this.#offsetMs)).catch(() => undefined)
    while (!life.isOver && performance.now() < deadline && story !== undefined) await this.#round(story)
    await process.kill()
    const ending = await process.exited
    if (performance.now() >= deadline) this.violations.push(`${name}: the point was never met`)
    if (ending !== 'SIGKILL') this.violations.push(`${name}: ended by ${ending}`)
    this.#last = name
  }

  /** The last start on a database is not killed, and stores something more. */
  async finish(): Promise<void> {
    if (this.#database === undefined) return
    const process = await this.#start({})
    try {
      await this.#inspect(process, { isOver: false })
      this.violations.push(...(await inspectGoingOn(process, this.#offsetMs)).map((found) => `${this.#last}: ${found}`))
    } finally {
      await process.stop()
    }
    await this.close()
  }

  async close(): Promise<void> {
    await this.#database?.drop()
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true })
    this.#database = undefined
    this.#folder = undefined
    this.#offsetMs = 0
    this.#acked = new Set()
  }

  async #start(more: Readonly<Record<string, string>>): Promise<AuthorityProcess> {
    this.#database ??= await this.#createDatabase()
    this.#folder ??= await mkdtemp(join(tmpdir(), 'chancery-kills-'))
    const clock = await this.#setClock()
    return startAuthorityProcess({
      network: this.#network,
      settings: { ...this.#database.settings, ...SETTINGS, ...more, CHANCERY_MOVED_CLOCK_FILE: clock },
      execArgv: ['--import', MOVED_CLOCK],
    })
  }

  async #setClock(): Promise<string> {
    const file = join(this.#folder ?? '', 'clock')
    await writeFile(file, String(this.#offsetMs))
    return file
  }

  /** Entries for retention to remove: made now, and then two days pass. */
  async #growOld(process: AuthorityProcess): Promise<void> {
    const story = await EvidenceStory.open(served(process, this.#offsetMs))
    for (let count = 0; count < 4; count += 1) await story.execute(decisionOf(await story.decide()))
    await story.anchor()
    this.#offsetMs += TWO_DAYS_MS
    await this.#setClock()
    await pause(CLOCK_SETTLES_MS)
  }

  /** A process that is killed while it is asked has shown nothing: the next one will be asked the same. */
  async #inspect(process: AuthorityProcess, life: { readonly isOver: boolean }): Promise<void> {
    try {
      const found = await inspectStore(process, this.#acked, this.#offsetMs)
      this.violations.push(...found.map((sentence) => `${this.#last}: ${sentence}`))
      this.#acked.clear()
    } catch (error) {
      if (!life.isOver) throw error
    }
  }

  /** Several at once, so that a batch has more than one. Whoever gets no answer was never acknowledged. */
  async #round(story: EvidenceStory): Promise<void> {
    const work = Array.from({ length: 4 }, async () => {
      const answer = await story.decide()
      if (answer.status !== 201) return
      const decision = decisionOf(answer)
      this.#acked.add(decision.decision_id)
      this.acks += 1
      await story.execute(decision)
    })
    await Promise.allSettled([...work, story.anchor(), story.retain()])
    await pause(20)
  }
}

/** Everything acknowledged is there once; chain, anchors and log hold. */
export async function inspectStore(
  process: AuthorityProcess,
  acked: ReadonlySet<string>,
  offsetMs = 0,
): Promise<string[]> {
  const { operator, request } = served(process, offsetMs)
  const violations: string[] = []
  const report = objectOf(await operator('GET', '/admin/evidence/verify'))
  if (report['verified'] !== true) violations.push(`the store does not verify: ${JSON.stringify(report['failures'])}`)
  for (const id of acked) {
    const page = objectOf(await operator('GET', `/admin/evidence?decision_id=${id}&entry_kind=decision`))
    if (page['count'] !== 1) violations.push(`decision ${id} was acknowledged and is not there`)
  }
  return [...violations, ...(await inspectLog(request, objectOf(await operator('GET', '/admin/evidence/status'))))]
}

/** The store goes on. */
export async function inspectGoingOn(process: AuthorityProcess, offsetMs = 0): Promise<string[]> {
  const story = await EvidenceStory.open(served(process, offsetMs))
  return (await story.decide()).status === 201 ? [] : ['no decision can be stored afterwards']
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
