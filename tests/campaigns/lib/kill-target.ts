import { setTimeout as pause } from 'node:timers/promises'
import { createTestDatabase } from '@chancery/testkit'
import type { AuthorityProcess, Backend, TestDatabase } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { startOwnServer } from './private-postgres.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'

/** One engine whose authority is killed again and again. */
export interface KillTarget {
  readonly violations: readonly string[]
  /** What was acknowledged so far. */
  readonly acks: number
  /** The kill of this turn; the first is 0. */
  kill(turn: number): Promise<void>
  /** A last start, which is not killed, shows what is left after the last kill. */
  finish(): Promise<void>
  /** Leaves nothing behind, whatever happened. */
  close(): Promise<void>
}

export interface KillTargetParts {
  readonly backend: Backend
  /** Its own: draws of two engines side by side would come in another order each time. */
  readonly random: Random
  readonly createDatabase: () => Promise<TestDatabase>
}

/** Kills on both engines side by side, in turn: most of a kill is the waiting of the next start. */
export async function killBoth(
  { count, seed, log }: CampaignOptions,
  create: (parts: KillTargetParts) => KillTarget,
): Promise<CampaignResult> {
  const server = await startOwnServer()
  const victims = [
    create({ backend: 'sqlite', random: seededRandom(seed), createDatabase: () => createTestDatabase('sqlite') }),
    create({ backend: 'postgres', random: seededRandom(seed + 1), createDatabase: () => server.createDatabase() }),
  ]
  const found = (): string[] => victims.flatMap((victim) => victim.violations)
  const outcomes = await Promise.allSettled(
    victims.map(async (victim, engine) => {
      for (let kill = engine; kill < count; kill += victims.length) {
        await victim.kill(kill >> 1)
        const acks = victims.reduce((sum, each) => sum + each.acks, 0)
        if (kill % 20 === 19) log(`${kill + 1} kills, ${acks} acks, ${found().length} violations`)
      }
      await victim.finish()
    }),
  )
  const cleanings = await Promise.allSettled(victims.map((victim) => victim.close()))
  await server.remove()
  for (const violation of found().slice(0, 20)) log(`violation: ${violation}`)
  for (const outcome of [...outcomes, ...cleanings]) if (outcome.status === 'rejected') throw outcome.reason
  return { cases: count, violations: found().length }
}

const DEAD_WITHIN_MS = 10_000

/** How a process ended by itself, within a moment; the campaign's own kill afterwards is not taken for the fault. */
export async function endingOf(process: AuthorityProcess, withinMs = DEAD_WITHIN_MS): Promise<string | number> {
  const ending = await Promise.race([process.exited, pause(withinMs, 'nothing', { ref: false })])
  await process.kill()
  return ending
}
