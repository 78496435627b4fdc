import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { checkEnrollment } from './checks.ts'
import {
  differentRevocations,
  joinAgainstCompromise,
  mixedReasons,
  rejoinAgainstRevoke,
  renewAgainstRevoke,
  sameInvite,
  sameNonce,
} from './race-kinds.ts'
import type { Race } from './race-kinds.ts'
import { type OwnServer, startOwnServer } from '../lib/private-postgres.ts'
import { RaceNotes, openRaceRunner } from '../lib/race-runner.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary = 'rounds of racing joins, nonces, renewals and revocations, two processes on one PostgreSQL'
export const defaultCount = 200

const CALLERS = 50
/** Every version contains the whole list, so a long run changes to a new database from time to time. */
const ROUNDS_PER_DATABASE = 25

const RACES: readonly Race[] = [
  sameInvite,
  sameNonce,
  differentRevocations,
  renewAgainstRevoke,
  joinAgainstCompromise,
  mixedReasons,
  rejoinAgainstRevoke,
]

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runRaces({ ...options, callers: CALLERS })
}

export async function runRaces(options: CampaignOptions & { readonly callers: number }): Promise<CampaignResult> {
  const notes = new RaceNotes()
  const random = seededRandom(options.seed)
  const server = await startOwnServer()
  try {
    for (let done = 0; done < options.count; done += ROUNDS_PER_DATABASE) {
      const rounds = Math.min(ROUNDS_PER_DATABASE, options.count - done)
      await runRounds({ server, rounds, random, callers: options.callers, notes })
      options.log(`${done + rounds} rounds, ${notes.violations.length} violations`)
    }
  } finally {
    await server.remove()
  }
  const answers = [...notes.answers].map(([answer, count]) => `${answer}: ${count}`)
  for (const line of answers.sort((a, b) => (a < b ? -1 : 1))) options.log(line)
  for (const violation of notes.violations.slice(0, 20)) options.log(`violation: ${violation}`)
  return { cases: options.count, violations: notes.violations.length }
}

interface Rounds {
  readonly server: OwnServer
  readonly rounds: number
  readonly random: Random
  readonly callers: number
  readonly notes: RaceNotes
}

async function runRounds(facts: Rounds): Promise<void> {
  const { rounds, notes } = facts
  const runner = await openRaceRunner(facts)
  try {
    for (let round = 0; round < rounds; round += 1) for (const race of RACES) await race(runner)
    const { network, rows, seeded } = runner
    const found = await checkEnrollment(rows, { authorityKey: network.authority.publicKey, seeded })
    for (const violation of found) notes.violation(violation)
  } finally {
    await runner.close()
  }
}
