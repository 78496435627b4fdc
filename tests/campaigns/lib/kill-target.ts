import { setTimeout as pause } from 'node:timers/promises'
import { type AuthorityProcess, type Backend, type TestDatabase, createTestDatabase } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { startOwnServer } from './private-postgres.ts'
import { type Random, seededRandom } from './random.ts'

/** One engine whose authority is killed repeatedly. */
export interface KillTarget {
  readonly violations: readonly string[]
  /** Everything acknowledged before. */
  readonly acks: number
  /** Runs kill number `index`, starting at 0. */
  kill(turn: number): Promise<void>
  /** Starts once more without a kill, to check the state after the last kill. */
  finish(): Promise<void>
  /** Removes all files and processes. */
  close(): Promise<void>
}

export interface KillTargetParts {
  readonly backend: Backend
  /** A separate one, because the order of draws of two engines is not fixed. */
  readonly random: Random
  readonly createDatabase: () => Promise<TestDatabase>
}

/** Kills on both engines at the same time, because most of a kill is the wait for the next start. */
export async function killBoth(
  { count, seed, log }: CampaignOptions,
  create: (parts: KillTargetParts) => KillTarget,
): Promise<CampaignResult> {
  const server = await startOwnServer()
  const targets = [
    create({ backend: 'sqlite', random: seededRandom(seed), createDatabase: () => createTestDatabase('sqlite') }),
    create({ backend: 'postgres', random: seededRandom(seed + 1), createDatabase: () => server.createDatabase() }),
  ]
  const found = (): string[] => targets.flatMap((target) => target.violations)
  const outcomes = await Promise.allSettled(
    targets.map(async (target, engine) => {
      for (let kill = engine; kill < count; kill += targets.length) {
        await target.kill(kill >> 1)
        const acks = targets.reduce((sum, each) => sum + each.acks, 0)
        if (kill % 20 === 19) log(`${kill + 1} kills, ${acks} acks, ${found().length} violations`)
      }
      await target.finish()
    }),
  )
  const cleanings = await Promise.allSettled(targets.map((target) => target.close()))
  await server.remove()
  for (const violation of found().slice(0, 20)) log(`violation: ${violation}`)
  for (const outcome of [...outcomes, ...cleanings]) if (outcome.status === 'rejected') throw outcome.reason
  return { cases: count, violations: found().length }
}

const DEAD_WITHIN_MS = 10_000

/** Returns the exit of a process that ended by itself within a short time. The campaign's own kill does not count. */
export async function endingOf(process: AuthorityProcess, withinMs = DEAD_WITHIN_MS): Promise<string | number> {
  const ending = await Promise.race([process.exited, pause(withinMs, 'nothing', { ref: false })])
  await process.kill()
  return ending
}
