import { DAY, writeSortable } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { type GrowthOptions, run } from '../campaigns/growth/growth-year.ts'
import type { GrowingNetwork } from '../campaigns/growth/network.ts'
import { runCampaign } from './campaign-run.ts'

/** A year of 1,000 nodes, and PostgreSQL, run at night. */
describe('campaign growth-year', () => {
  it('finds every table of a short life within its bound', async () => {
    const campaign = {
      run: (options: GrowthOptions) => run({ ...options, backend: 'sqlite', restStep: 41 }),
    }
    const { violations } = await runCampaign('growth-year', campaign, { count: 4, nodes: 4 })
    expect(violations).toBe(0)
  }, 300_000)

  it('finds a row that no job removed', async () => {
    const lines: string[] = []
    const spoil = ({ na, clock }: GrowingNetwork): Promise<unknown> =>
      na.core.database.write(({ query }) =>
        query
          .insertInto('nonces')
          .values({ claim: new Uint8Array(16), expires_at: writeSortable(clock.now() - 3n * DAY) })
          .execute(),
      )
    const { violations } = await run({
      count: 1,
      nodes: 1,
      seed: 1,
      backend: 'sqlite',
      restStep: 41,
      spoil,
      log: (line) => lines.push(line),
    })
    const found = lines.filter((line) => line.startsWith('violation'))
    expect(found).toHaveLength(violations)
    expect(found[0]).toMatch(/without requests: nonces: 1 rows past their end$/)
  }, 300_000)
})
