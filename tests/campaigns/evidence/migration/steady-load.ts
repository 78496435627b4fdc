import { setTimeout as pause } from 'node:timers/promises'
import type { AuthorityProcess, TestResponse } from '@chancery/testkit'
import { EvidenceScenario, type Served, decisionOf } from '../scenario.ts'
import { percentile } from '../../lib/latencies.ts'
import { type Random, seededRandom } from '../../lib/random.ts'

const WORKERS = 2
const PAUSE_MS = 20

export function servedBy(process: AuthorityProcess): Served {
  return {
    request: (method, target, options) => process.request(method, target, options),
    operator: process.as('privileged'),
  }
}

/** Paths that are read, by a number below 500,000. */
export type ReadTargets = (first: number) => readonly [string, ...string[]]

/** Requests to one instance all the time: decisions, executions and reads. */
export class SteadyLoad {
  readonly failures: string[] = []
  readonly times: number[] = []
  readonly decisions = new Set<string>()
  readonly executions = new Set<string>()
  readonly #process: AuthorityProcess
  readonly #scenario: EvidenceScenario
  readonly #random: Random
  readonly #targets: ReadTargets
  #isWorking = true
  #work: Promise<unknown> = Promise.resolve()

  private constructor(process: AuthorityProcess, scenario: EvidenceScenario, seed: number, targets: ReadTargets) {
    this.#process = process
    this.#scenario = scenario
    this.#random = seededRandom(seed)
    this.#targets = targets
  }

  static async start(process: AuthorityProcess, seed: number, targets: ReadTargets): Promise<SteadyLoad> {
    const load = new SteadyLoad(process, await EvidenceScenario.open(servedBy(process)), seed, targets)
    load.#work = Promise.all(Array.from({ length: WORKERS }, () => load.#toil()))
    return load
  }

  async stop(): Promise<void> {
    this.#isWorking = false
    await this.#work
  }

  get p99(): number {
    return percentile(this.times, 0.99)
  }

  async #toil(): Promise<void> {
    while (this.#isWorking) {
      if (this.#random.chance(50)) await this.#append()
      else await this.#read()
      await pause(PAUSE_MS)
    }
  }

  async #append(): Promise<void> {
    const decided = await this.#ask('a decision', 201, () => this.#scenario.decide())
    if (decided === undefined) return
    const decision = decisionOf(decided)
    this.decisions.add(decision.decision_id)
    const executed = await this.#ask('an execution', 201, () => this.#scenario.execute(decision))
    if (executed !== undefined) this.executions.add(decision.decision_id)
  }

  async #read(): Promise<void> {
    const get = this.#process.as('standard')
    const target = this.#random.pick(this.#targets(this.#random.below(500_000)))
    await this.#ask(target, 200, () => get('GET', target))
  }

  async #ask(what: string, status: number, call: () => Promise<TestResponse>): Promise<TestResponse | undefined> {
    const started = performance.now()
    try {
      const answer = await call()
      this.times.push(performance.now() - started)
      if (answer.status === status) return answer
      this.failures.push(`${what}: ${answer.status} ${answer.text.slice(0, 200)}`)
    } catch (error) {
      this.failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
    }
    return undefined
  }
}
