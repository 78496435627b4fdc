import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, EndedAtStartError, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, SendOptions, TestDatabase, TestNetwork, TestResponse } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { endingOf, killBoth, type KillTarget, type KillTargetParts } from '../lib/kill-target.ts'
import { waitUntilIdle } from '../lib/rows.ts'
import { decisionOf, EvidenceScenario, objectOf } from './scenario.ts'

/** Points of apps/authority/src/faults/fault-points.ts. */
const POINTS = [
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
/** Small enough that every point is also reached in a new store, in another order each time. */
const KILLS_PER_DATABASE = 5
const MOVED_CLOCK = new URL('../lib/moved-clock.ts', import.meta.url).href
/** Jobs run every 20 ms. */
const CLOCK_SETTLES_MS = 100
const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  NA_CLOCK_CHECK: 'off',
  NA_GENESIS_WINDOW: 'warn',
}

/** kill -9 of an authority at named points of append, anchor, log and retention: nothing acknowledged is lost. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('KILL-NET')
  try {
    return await killBoth(options, (parts) => new EvidenceTarget(network, parts))
  } finally {
    await network.remove()
  }
}

/** Acknowledged results. They must be stored until retention may remove them. */
export interface EvidenceAcks {
  readonly decisions: Set<string>
  readonly executions: Set<string>
  /** Highest sequence that was acknowledged as anchored. */
  anchoredThrough: number
}

export function noEvidenceAcks(): EvidenceAcks {
  return { decisions: new Set(), executions: new Set(), anchoredThrough: 0 }
}

/** Stores acknowledged results outside the authority. Every start checks the state after the last kill. */
class EvidenceTarget implements KillTarget {
  readonly violations: string[] = []
  acks = 0
  readonly #network: TestNetwork
  readonly #parts: KillTargetParts
  #database: TestDatabase | undefined
  #folder: string | undefined
  #process: AuthorityProcess | undefined
  /** Offset of the clock of this database, so that retention finds old entries. */
  #offsetMs = 0
  #acked = noEvidenceAcks()
  /** The kill that the next start checks. */
  #last = ''

  constructor(network: TestNetwork, parts: KillTargetParts) {
    this.#network = network
    this.#parts = parts
  }

  async kill(turn: number): Promise<void> {
    const { backend, random } = this.#parts
    if (turn % KILLS_PER_DATABASE === 0) await this.finish()
    const point = POINTS[turn % POINTS.length] ?? POINTS[0]
    const fault = { CHANCERY_FAULT_POINT: point, CHANCERY_FAULT_AFTER: String(hitsBefore(point, random.below(8))) }
    try {
      this.#process = await this.#start(fault)
      await this.#inspect(this.#process)
      this.#last = `${backend} at ${point}`
      if (point.startsWith('retention-')) await this.#growOld(this.#process)
      await this.#loadUntilDead(this.#process)
    } catch (error) {
      // The jobs of the authority sign the first checkpoint of the log, so that point may be reached before the first
      // request.
      const isMet = error instanceof EndedAtStartError ? error.ending === 'SIGKILL' : await this.#diedAt(point)
      if (!isMet) throw error
    }
    if (this.#database !== undefined) await waitUntilIdle(this.#database)
  }

  async finish(): Promise<void> {
    if (this.#database === undefined) return
    const process = await this.#start({})
    this.#process = process
    await this.#inspect(process)
    for (const violation of await inspectGoingOn(process, this.#offsetMs)) this.#note(violation)
    await this.close()
  }

  async close(): Promise<void> {
    await this.#process?.kill()
    await this.#database?.drop()
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true })
    this.#process = undefined
    this.#database = undefined
    this.#folder = undefined
    this.#offsetMs = 0
    this.#acked = noEvidenceAcks()
  }

  #note(sentence: string): void {
    this.violations.push(`${this.#last}: ${sentence}`)
  }

  async #start(more: Readonly<Record<string, string>>): Promise<AuthorityProcess> {
    this.#database ??= await this.#parts.createDatabase()
    this.#folder ??= await mkdtemp(join(tmpdir(), 'chancery-kills-'))
    const clock = await this.#setClock(this.#folder)
    return startAuthorityProcess({
      network: this.#network,
      settings: { ...this.#database.settings, ...SETTINGS, ...more, CHANCERY_MOVED_CLOCK_FILE: clock },
      execArgv: ['--import', MOVED_CLOCK],
    })
  }

  async #setClock(folder: string): Promise<string> {
    const file = join(folder, 'clock')
    await writeFile(file, String(this.#offsetMs))
    return file
  }

  /** Only a job reaches this point when there are no requests. Such a start was not checked; the next one is. */
  async #diedAt(point: string): Promise<boolean> {
    if (this.#process === undefined || !point.startsWith('log-')) return false
    return (await endingOf(this.#process)) === 'SIGKILL'
  }

  /** Creates entries for retention, then moves the clock by two days. Older entries may be removed afterwards. */
  async #growOld(process: AuthorityProcess): Promise<void> {
    const scenario = await EvidenceScenario.open(served(process, this.#offsetMs))
    for (let count = 0; count < 4; count += 1) await scenario.execute(decisionOf(await scenario.decide()))
    await scenario.anchor()
    this.#acked = noEvidenceAcks()
    this.#offsetMs += TWO_DAYS_MS
    await this.#setClock(this.#folder ?? '')
    await pause(CLOCK_SETTLES_MS)
  }

  async #loadUntilDead(process: AuthorityProcess): Promise<void> {
    const deadline = performance.now() + LOAD_SECONDS * 1000
    let isDead = false
    void process.exited.then(() => {
      isDead = true
    })
    const scenario = await EvidenceScenario.open(served(process, this.#offsetMs))
    while (!isDead && performance.now() < deadline) await this.#round(scenario)
    const ending = await endingOf(process)
    if (ending !== 'SIGKILL') this.#note(isDead ? `ended by ${ending}` : 'the point was never met')
  }

  /** Sends several at once, so that a batch has more than one. A call without a response counts as not acknowledged. */
  async #round(scenario: EvidenceScenario): Promise<void> {
    const work = Array.from({ length: 4 }, async () => {
      const answer = this.#take('a decision', await scenario.decide(), 201)
      if (answer === undefined) return
      const decision = decisionOf(answer)
      this.#acked.decisions.add(decision.decision_id)
      const executed = this.#take('an execution', await scenario.execute(decision), 201)
      if (executed !== undefined) this.#acked.executions.add(decision.decision_id)
    })
    const anchor = async (): Promise<void> => {
      const answer = this.#take('an anchor', await scenario.anchor(), 201, 200)
      const made = answer === undefined ? undefined : (objectOf(answer)['anchor'] as JsonObject)
      this.#acked.anchoredThrough = Math.max(this.#acked.anchoredThrough, Number(made?.['store_sequence'] ?? 0))
    }
    const retain = async (): Promise<unknown> => this.#take('retention', await scenario.retain(), 200, 409)
    // Only a broken connection rejects, which is the kill.
    await Promise.allSettled([...work, anchor(), retain()])
    await pause(20)
  }

  /** Returns the body if the status is the first allowed one; every status that is not allowed is a violation. */
  #take(what: string, answer: TestResponse, wanted: number, ...allowed: number[]): TestResponse | undefined {
    if (answer.status === wanted) {
      this.acks += 1
      return answer
    }
    if (!allowed.includes(answer.status))
      this.#note(`${what} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return undefined
  }

  async #inspect(process: AuthorityProcess): Promise<void> {
    const found = await inspectStore(process, this.#acked, this.#offsetMs)
    for (const violation of found) this.#note(violation)
  }
}

/** A job of the log has work at the start; under load the second or third run reaches the point. */
function hitsBefore(point: string, random: number): number {
  if (point.startsWith('evidence-')) return random
  if (point.startsWith('log-')) return 1 + (random % 2)
  return point.startsWith('anchor-') ? random % 2 : 0
}

/** Checks that every acknowledged entry is stored once, and that chain, anchors and log are valid. */
export async function inspectStore(process: AuthorityProcess, acked: EvidenceAcks, offsetMs = 0): Promise<string[]> {
  const { operator, request } = served(process, offsetMs)
  const violations: string[] = []
  const report = objectOf(await operator('GET', '/admin/evidence/verify'))
  if (report['verified'] !== true) violations.push(`the store does not verify: ${JSON.stringify(report['failures'])}`)
  for (const [kind, ids] of [
    ['decision', acked.decisions],
    ['execution', acked.executions],
  ] as const)
    for (const id of ids) {
      const page = objectOf(await operator('GET', `/admin/evidence?decision_id=${id}&entry_kind=${kind}`))
      if (page['count'] !== 1) violations.push(`the ${kind} of ${id} was acknowledged and is not there`)
    }
  const status = objectOf(await operator('GET', '/admin/evidence/status'))
  const latest = status['latest_anchor'] as JsonObject | null
  const anchored = Number(latest?.['store_sequence'] ?? 0)
  if (anchored < acked.anchoredThrough) violations.push(`anchored through ${anchored}, not ${acked.anchoredThrough}`)
  return [...violations, ...(await inspectLog(operator, request, Number(status['last_store_sequence'] ?? 0)))]
}

/** The store accepts new entries. */
export async function inspectGoingOn(process: AuthorityProcess, offsetMs = 0): Promise<string[]> {
  const scenario = await EvidenceScenario.open(served(process, offsetMs))
  return (await scenario.decide()).status === 201 ? [] : ['no decision can be stored afterwards']
}

/** The log reaches the size of the store without a request, and never exceeds it. */
async function inspectLog(operator: Operator, request: AuthorityProcess['request'], last: number): Promise<string[]> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { text } = await request('GET', '/evidence-log/checkpoint')
    const size = Number(text.split('\n')[1])
    // Others may store entries meanwhile, so the store is read after the log.
    const stored = Number(objectOf(await operator('GET', '/admin/evidence/status'))['last_store_sequence'] ?? 0)
    if (size > stored) return [`the log has ${size} entries, the store ${stored}`]
    if (size >= last) return []
    await pause(100)
  }
  return ['the log does not catch up']
}

type Operator = ReturnType<typeof served>['operator']

export function served(process: AuthorityProcess, offsetMs: number) {
  const call = process.as('privileged')
  return {
    request: (method: string, target: string, options?: SendOptions) => process.request(method, target, options),
    operator: (method: string, target: string, body?: JsonObject) =>
      call(method, target, body, { timestamp: writeInstant(systemClock.now() + BigInt(offsetMs) * 1000n) }),
  }
}
