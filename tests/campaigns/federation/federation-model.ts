import { setTimeout as pause } from 'node:timers/promises'
import { accepted, type Backend } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { askAbout, askAnything, type Counts } from './decisions.ts'
import { isInForce, longestPauseSeconds } from './model.ts'
import { Scenario } from './scenario.ts'
import type { Sovereign } from './sovereign.ts'
import { prepare, type Step, STEPS } from './steps.ts'

/** Work of the authority itself, in real time, once a pull is due. */
const PULLED_WITHIN_MS = 20_000
const EXTRA_SECONDS = 10

interface Due {
  readonly at: Sovereign
  readonly issuer: Sovereign
  /** The feed of the issuer when the network was whole again. */
  readonly sequence: number
  readonly waitSeconds: number
}

/**
 * The network is whole again. After one interval, which is longer after failures (5.4), every partner knows every
 * revocation made before. Returns the number of pairs.
 */
async function settle(scenario: Scenario, counts: Counts): Promise<number> {
  for (const link of scenario.links) link.change('open', scenario.random)
  const due: Due[] = []
  for (const at of scenario.sovereigns)
    for (const [name, partner] of at.partners) {
      if (!partner.importFeeds || partner.isPaused) continue
      const issuer = scenario.named(name)
      const { sequence } = await issuer.readFeed()
      const shown = accepted(await at.operate('GET', `/admin/partners/${name}`))
      const waitSeconds = longestPauseSeconds(partner.interval, Number(shown['failures'])) + EXTRA_SECONDS
      due.push({ at, issuer, sequence, waitSeconds })
    }
  let passed = 0
  for (const one of due.toSorted((a, b) => a.waitSeconds - b.waitSeconds)) {
    if (scenario.isBroken) break
    if (one.waitSeconds > passed) await scenario.advance(one.waitSeconds - passed)
    passed = Math.max(passed, one.waitSeconds)
    await check(scenario, one, counts)
  }
  return due.length
}

async function check(scenario: Scenario, { at, issuer, sequence }: Due, counts: Counts): Promise<void> {
  const until = performance.now() + PULLED_WITHIN_MS
  for (;;) {
    await at.pullDue()
    const shown = accepted(await at.operate('GET', `/admin/partners/${issuer.name}`))
    if (shown['state'] === 'alarm')
      scenario.found.push(
        `${at.name} has an alarm about the correct ${issuer.name}: ${JSON.stringify(shown['alarms'])}`,
      )
    const { imported_sequence: imported = null } = (shown['feed'] ?? {}) as { imported_sequence?: number | null }
    if (imported !== null && imported >= sequence) break
    if (performance.now() > until) {
      const facts = JSON.stringify([shown['last_pull'], shown['next_pull_at'], shown['failures'], shown['feed']])
      scenario.found.push(`${at.name} did not see feed ${sequence} of ${issuer.name} in time: ${facts}`)
      return
    }
    // The job of the authority may hold the lease at this moment.
    await pause(50)
  }
  at.imported.set(issuer.name, Math.max(sequence, at.imported.get(issuer.name) ?? 0))
  const isRecognised = at.treaties.some((each) => each.subject === issuer.name && isInForce(each, scenario.clock.now()))
  if (!isRecognised) return
  for (const isRevoked of [true, false])
    for (const one of issuer.attestations.filter((each) => each.isRevoked === isRevoked).slice(-3))
      await askAbout(scenario, at, one, counts)
}

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
