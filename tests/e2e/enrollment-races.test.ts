import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { runRaces } from '../campaigns/enrollment-races.ts'

describe('campaign enrollment-races', () => {
  it('finds no violation in 5 rounds of 20 callers on two processes', async () => {
    const seed = randomInt(2 ** 32)
    const lines: string[] = []
    const result = await runRaces({ count: 5, callers: 20, seed, log: (line) => lines.push(line) })
    // Printed always: with it the same keys, tokens and choices can be made again.
    process.stdout.write(`enrollment-races seed ${seed}\n`)
    expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
    expect(result).toEqual({ cases: 5, violations: 0 })
  }, 120_000)
})
