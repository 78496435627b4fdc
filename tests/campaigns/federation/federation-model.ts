import type { Backend } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { type Counts, askAnything } from './decisions.ts'
import { settle } from './settle.ts'
import { STEPS, type Step, prepare } from './steps.ts'
import { Scenario } from './scenario.ts'

export const summary =
  'three to seven authorities with random treaties, revocations, feeds in any order, successions, cuts and restarts, against a model'
/** Number of steps. An even seed runs on SQLite, an odd one on PostgreSQL. */
export const defaultCount = 5000

/** Each scenario has its own authorities. */
const STEPS_OF_A_SCENARIO = 200
const SETTLE_EVERY = 25
const QUESTIONS = 3
const MAX_PRINTED = 20

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  return runFederation(options, options.seed % 2 === 0 ? 'sqlite' : 'postgres')
}

export async function runFederation({ count, seed, log }: CampaignOptions, backend: Backend): Promise<CampaignResult> {
  const started = performance.now()
  const totals = { decisions: 0, authorized: 0, refused: 0, verified: 0, intervals: 0, denials: {} }
  let violations = 0
  for (let at = 0; at < count; at += STEPS_OF_A_SCENARIO) {
    const random = seededRandom((seed + Math.imul(at, 0x9e3779b1)) >>> 0)
    const scenario = await Scenario.open(random, backend)
    try {
      await runScenario(scenario, Math.min(STEPS_OF_A_SCENARIO, count - at), totals)
    } finally {
      await scenario.close()
    }
    violations += scenario.found.length
    for (const line of scenario.found.slice(0, MAX_PRINTED)) log(`violation: from step ${at}: ${line}`)
    const seconds = Math.round((performance.now() - started) / 1000)
    log(JSON.stringify({ backend, steps: Math.min(at + STEPS_OF_A_SCENARIO, count), ...totals, violations, seconds }))
  }
  return { cases: count, violations }
}

async function runScenario(scenario: Scenario, steps: number, totals: Counts & { intervals: number }): Promise<void> {
  await prepare(scenario)
  for (let i = 1; i <= steps && !scenario.isBroken; i += 1) {
    const step = pickStep(scenario.random)
    try {
      await step.run(scenario)
      for (let asked = 0; asked < QUESTIONS; asked += 1) await askAnything(scenario, totals)
      if (i % SETTLE_EVERY === 0) totals.intervals += await settle(scenario, totals)
    } catch (error) {
      const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
      scenario.found.push(`step ${i}, ${step.name}: ${told.slice(0, 1500)}`)
      return
    }
  }
}

const ALL = STEPS.reduce((sum, { weight }) => sum + weight, 0)

function pickStep(random: Random): Step {
  let left = random.below(ALL)
  for (const step of STEPS) {
    left -= step.weight
    if (left < 0) return step
  }
  throw new Error('unreachable')
}
