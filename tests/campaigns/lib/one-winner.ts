import { testSigner } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { checkEnrollment } from '../enrollment/checks.ts'
import { type Race, sameInvite, sameNonce } from '../enrollment/race-kinds.ts'
import { startOwnServer } from './private-postgres.ts'
import { RaceNotes, type RaceOptions, type RaceRunner, openRaceRunner } from './race-runner.ts'
import { seededRandom } from './random.ts'
import {
  lastTwoKeys,
  retention,
  sameEvidencePosition,
  sameFeedSequence,
  sameIdempotencyKey,
} from '../trust/race-kinds.ts'

export const summary =
  'rounds of seven races with one winner each: invite, nonce, last keys, feed, evidence, retention, idempotency'
export const defaultCount = 20

const CALLERS = 50
const INSTANCES = 3
/** Chains and lists grow, so a long run changes to a new database from time to time. */
const ROUNDS_PER_DATABASE = 25

export const ONE_WINNER: readonly Race[] = [
  sameInvite,
  sameNonce,
  lastTwoKeys,
  sameFeedSequence,
  sameEvidencePosition,
  sameIdempotencyKey,
]

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runTracks({ ...options, callers: CALLERS }, ONE_WINNER, [retention])
}

/** Each round runs every race once: `races` with the real clock, `dated` with a clock that moves by days. */
export async function runTracks(
  options: CampaignOptions & { readonly callers: number },
  races: readonly Race[],
  dated: readonly Race[],
): Promise<CampaignResult> {
  const { count, seed, callers, log } = options
  const notes = new RaceNotes()
  const server = await startOwnServer()
  const facts = { server, random: seededRandom(seed), callers, notes, instances: INSTANCES, settings: await settings() }
  try {
    for (let done = 0; done < count; done += ROUNDS_PER_DATABASE) {
      const rounds = Math.min(ROUNDS_PER_DATABASE, count - done)
      await runRounds(facts, rounds, races)
      if (dated.length > 0) await runRounds(facts, rounds, dated)
      log(`${done + rounds} rounds, ${notes.violations.length} violations`)
    }
  } finally {
    await server.remove()
  }
  for (const [answer, times] of [...notes.answers].sort(([a], [b]) => (a < b ? -1 : 1))) log(`${answer}: ${times}`)
  for (const violation of notes.violations.slice(0, 20)) log(`violation: ${violation}`)
  return { cases: count, violations: notes.violations.length }
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
