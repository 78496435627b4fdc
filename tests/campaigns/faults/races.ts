import { testSigner } from '@chancery/testkit'
import { checkEnrollment } from '../enrollment/checks.ts'
import {
  differentRevocations,
  joinAgainstCompromise,
  mixedReasons,
  rejoinAgainstRevoke,
  renewAgainstRevoke,
  sameInvite,
  sameNonce,
} from '../enrollment/race-kinds.ts'
import type { Race } from '../enrollment/race-kinds.ts'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import { openRaceRunner, RaceNotes, type RaceOptions, type RaceRunner } from '../lib/race-runner.ts'
import { seededRandom } from '../lib/random.ts'
import { changedPolicy } from '../trust/policy-race.ts'
import {
  evidenceAppends,
  lastTwoKeys,
  retention,
  sameAgent,
  sameEvidencePosition,
  sameFeedSequence,
  sameIdempotencyKey,
} from '../trust/race-kinds.ts'

export const summary =
  'rounds of every race of the catalogue on three instances: one winner, all served, or one end; --case NAME for one'
export const defaultCount = 100

const CALLERS = 50
const INSTANCES = 3
/** Chains and lists grow, so a long run changes to a new database from time to time. */
const ROUNDS_PER_DATABASE = 25

/** One winner each. */
const ONE_WINNER: Readonly<Record<string, Race>> = {
  'same-invite': sameInvite,
  'same-nonce': sameNonce,
  'last-two-keys': lastTwoKeys,
  'same-feed-sequence': sameFeedSequence,
  'same-evidence-position': sameEvidencePosition,
  'same-idempotency-key': sameIdempotencyKey,
}

/** Every race with the real clock. */
const CATALOGUE: Readonly<Record<string, Race>> = {
  ...ONE_WINNER,
  'different-revocations': differentRevocations,
  'evidence-appends': evidenceAppends,
  'mixed-reasons': mixedReasons,
  'renew-or-revoke': renewAgainstRevoke,
  'join-or-compromise': joinAgainstCompromise,
  'rejoin-or-revoke': rejoinAgainstRevoke,
  'same-agent': sameAgent,
  'changed-policy': changedPolicy,
}

/** Moves the clock by days, so it has its own instances. */
const DATED: Readonly<Record<string, Race>> = { retention }

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runRaces({ ...options, callers: CALLERS })
}

interface RacesOptions extends CampaignOptions {
  readonly callers: number
  /** Only the races with one winner and the real clock, before each merge. */
  readonly isShort?: boolean
}

export async function runRaces(options: RacesOptions): Promise<CampaignResult> {
  const { count, seed, callers, log, only = '', isShort = false } = options
  const chosen = (races: Readonly<Record<string, Race>>): readonly Race[] =>
    Object.entries(races).flatMap(([name, race]) => (name.includes(only) ? [race] : []))
  const tracks = (isShort ? [ONE_WINNER] : [CATALOGUE, DATED]).map(chosen).filter((races) => races.length > 0)
  if (tracks.length === 0) throw new TypeError(`no race is named ${only}`)
  const notes = new RaceNotes()
  const server = await startOwnServer()
  const facts = { server, random: seededRandom(seed), callers, notes, instances: INSTANCES, settings: await settings() }
  try {
    for (let done = 0; done < count; done += ROUNDS_PER_DATABASE) {
      const rounds = Math.min(ROUNDS_PER_DATABASE, count - done)
      for (const races of tracks) await runRounds(facts, rounds, races)
      log(`${done + rounds} rounds, ${notes.violations.length} violations`)
    }
  } finally {
    await server.remove()
  }
  for (const [answer, times] of [...notes.answers].sort(([a], [b]) => (a < b ? -1 : 1))) log(`${answer}: ${times}`)
  return conclude(log, count, notes.violations)
}

/** Two more operators, who try to revoke each other. */
async function settings(): Promise<Readonly<Record<string, string>>> {
  const names = ['op-privileged', 'op-standard', 'race-a', 'race-b']
  const keys: Record<string, string> = {}
  for (const name of names) keys[name] = (await testSigner(name)).publicKey
  const tiers = names.map((name) => [name, name === 'op-standard' ? 'standard' : 'privileged'])
  return {
    OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify(keys),
    OPERATOR_KEY_TIERS_JSON: JSON.stringify(Object.fromEntries(tiers)),
    EVIDENCE_STORE: 'on',
    NA_ANCHOR_INTERVAL_SECONDS: '0',
    NA_CLOCK_CHECK: 'off',
    NA_GENESIS_WINDOW: 'warn',
  }
}

async function runRounds(facts: RaceOptions, rounds: number, races: readonly Race[]): Promise<void> {
  const runner = await openRaceRunner(facts)
  try {
    for (let round = 0; round < rounds; round += 1) for (const race of races) await race(runner)
    await checkDatabase(runner)
  } finally {
    await runner.close()
  }
}

async function checkDatabase({ rows, network, seeded, notes, processes }: RaceRunner): Promise<void> {
  const found = await checkEnrollment(rows, { authorityKey: network.authority.publicKey, seeded })
  for (const violation of found) notes.violation(violation)
  const deadlocks = await rows.query('select deadlocks as n from pg_stat_database where datname = current_database()')
  if (Number(deadlocks[0]?.['n']) > 0) notes.violation(`${Number(deadlocks[0]?.['n'])} deadlocks`)
  for (const process of processes)
    for (const line of process.log.filter((each) => /"level":"(?:error|fatal)"/.test(each)).slice(0, 3))
      notes.violation(`an instance said: ${line.slice(0, 200)}`)
}
