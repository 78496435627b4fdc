import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { type Attack, AUTHORITY_ATTACKS } from './authority-attacks.ts'
import { CALLER_ATTACKS, DECISION_ATTACKS } from './caller-attacks.ts'
import { CHECK_ATTACKS } from './check-attacks.ts'
import {
  checkGatewayServed,
  checkOutcome,
  checkReleased,
  checkServed,
  checkStored,
  CLIENT_ATTACKS,
  openClients,
} from './client-attacks.ts'
import { GATEWAY_ATTACKS, GUARD_ATTACKS, openGuard } from './gateway-attacks.ts'
import { ANSWER_ATTACKS, NODE_ATTACKS, openWorkers, SLOW_ATTACKS, WORKER_ATTACKS } from './node-attacks.ts'
import { PARTNER_ATTACKS } from './partner-attacks.ts'
import { type AuthoritySetup, type GatewaySetup, openAuthority, openGateway } from './setup.ts'

export const summary =
  'attacks over HTTP drawn at random against an authority on each database, one of two workers, a gateway, an MCP guard and programs with the client library: nothing leaks, no answer is wrong, others are served'
export const defaultCount = 10_000

const SHOWN = 30
/** Stored rows are counted after this many cases; all other checks run after each case. */
const COUNT_EVERY = 50

interface Lane {
  readonly name: string
  /** Runs one case and returns its violations. */
  strike(index: number, random: Random): Promise<{ readonly attack: string; readonly found: readonly string[] }>
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const stages: AuthoritySetup[] = []
  const opened: { stop(): Promise<void> }[] = []
  const drawn = new Map<string, number>()
  let violations = 0
  try {
    const open = async <Stage extends { stop(): Promise<void> }>(opening: Promise<Stage>): Promise<Stage> => {
      const stage = await opening
      opened.unshift(stage)
      return stage
    }
    for (const backend of ['sqlite', 'postgres'] as const) stages.push(await open(openAuthority(backend)))
    const gateway = await open(openGateway(stages[0] as AuthoritySetup))
    const lanes = [
      ...stages.map(authorityLane),
      gatewayLane(gateway),
      plainLane('guard', await open(openGuard()), GUARD_ATTACKS),
      plainLane('workers', await open(openWorkers()), WORKER_ATTACKS),
      plainLane('client', await open(openClients()), CLIENT_ATTACKS),
    ]
    let next = 0
    const work = async (lane: Lane, number: number): Promise<void> => {
      // The share of a lane is fixed, so that the same seed draws the same cases.
      for (let index = number; index < count; index += lanes.length) {
        const random = seededRandom((seed + index * 0x9e3779b1) >>> 0)
        const { attack, found } = await lane.strike(index, random)
        const name = `${lane.name}: ${attack}`
        drawn.set(name, (drawn.get(name) ?? 0) + 1)
        next += 1
        if (next % 500 === 0) log(`${next} of ${count}, ${violations} violations`)
        if (found.length === 0) continue
        violations += 1
        if (violations <= SHOWN) log(`violation in case ${index}, ${name}: ${found.join('; ')}`)
      }
    }
    await Promise.all(lanes.map(work))
    for (const setup of stages) {
      const found = await checkStored(setup)
      violations += found.length
      for (const each of found) log(`violation at the end, ${setup.backend}: ${each}`)
    }
    for (const line of [...drawn].map(([name, times]) => `${name}: ${times}`).sort()) log(line)
  } finally {
    for (const each of opened) await each.stop()
  }
  return { cases: count, violations }
}

type Strike = Awaited<ReturnType<Lane['strike']>>

/** A case that could not run counts as a violation. */
async function struck({ name }: { readonly name: string }, strike: () => Promise<readonly string[]>): Promise<Strike> {
  try {
    return { attack: name, found: await strike() }
  } catch (error) {
    return { attack: name, found: [`${name} could not run: ${error instanceof Error ? error.message : String(error)}`] }
  }
}

/** Every case has its own address, so that no limit is reached because of an earlier case. */
function address(first: number, index: number): string {
  return `127.${first + (index >> 16)}.${(index >> 8) & 0xff}.${index & 0xff}`
}

function authorityLane(setup: AuthoritySetup): Lane {
  const attacks: readonly [Attack<AuthoritySetup>, ...Attack<AuthoritySetup>[]] = [
    ...AUTHORITY_ATTACKS,
    ...NODE_ATTACKS,
    ...DECISION_ATTACKS,
    ...ANSWER_ATTACKS,
    ...CALLER_ATTACKS,
    ...PARTNER_ATTACKS,
    ...SLOW_ATTACKS,
  ]
  return {
    name: setup.backend,
    strike: (index, random) => {
      const attack = random.pick(attacks)
      const [from, other] = [address(20, index), address(60, index)]
      return struck(attack, async () => {
        // Other callers send requests during the attack, and again after it.
        const [outcome, during] = await Promise.all([attack.run(setup, from, random), checkServed(setup, other)])
        const after = [...(await checkServed(setup, other)), ...(await checkReleased(setup))]
        const stored = index % COUNT_EVERY < 3 ? await checkStored(setup) : []
        return [...checkOutcome(outcome), ...during, ...after, ...stored]
      })
    },
  }
}

function gatewayLane(setup: GatewaySetup): Lane {
  return {
    name: 'gateway',
    strike: (index, random) => {
      const attack = random.pick([...GATEWAY_ATTACKS, ...CHECK_ATTACKS])
      const [from, other] = [address(100, index), address(140, index)]
      return struck(attack, async () => {
        const outcome = await attack.run(setup, from, random)
        return [...checkOutcome(outcome), ...(await checkGatewayServed(setup, other))]
      })
    },
  }
}

function plainLane<Stage>(name: string, stage: Stage, attacks: readonly [Attack<Stage>, ...Attack<Stage>[]]): Lane {
  return {
    name,
    strike: (index, random) => {
      const attack = random.pick(attacks)
      return struck(attack, async () => checkOutcome(await attack.run(stage, address(180, index), random)))
    },
  }
}
