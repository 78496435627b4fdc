import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { CampaignResult } from '../campaigns/campaign.ts'
import { run as runDifferential } from '../campaigns/policy-differential.ts'
import { runPolicyRaces } from '../campaigns/policy-races.ts'
import { runTamper } from '../campaigns/policy-tamper.ts'

/** Printed always: with the seed the same cases can be made again. */
async function clean(
  name: string,
  work: (seed: number, log: (line: string) => void) => Promise<CampaignResult>,
): Promise<CampaignResult> {
  const seed = randomInt(2 ** 32)
  const lines: string[] = []
  process.stdout.write(`${name} seed ${seed}\n`)
  const result = await work(seed, (line) => lines.push(line))
  expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
  return result
}

describe('campaigns of boundary policies', () => {
  it('engine and second evaluator agree on 100000 cases', async () => {
    const result = await clean('policy-differential', (seed, log) => runDifferential({ count: 100_000, seed, log }))
    expect(result).toEqual({ cases: 100_000, violations: 0 })
  }, 240_000)

  it.each(['sqlite', 'postgres'] as const)(
    'every one of 60 flipped bytes denies, on %s',
    async (backend) => {
      const result = await clean('policy-tamper', (seed, log) => runTamper({ count: 60, seed, log, backend }))
      expect(result).toEqual({ cases: 60, violations: 0 })
    },
    120_000,
  )

  it('two authorities keep one version in force and no gaps in 5 rounds of 20 callers', async () => {
    const result = await clean('policy-races', (seed, log) => runPolicyRaces({ count: 5, callers: 20, seed, log }))
    expect(result).toEqual({ cases: 5, violations: 0 })
  }, 180_000)
})
