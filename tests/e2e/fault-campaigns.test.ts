import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Campaign } from '../campaigns/campaign.ts'
import { ONE_WINNER, runTracks } from '../campaigns/one-winner.ts'
import { retention } from '../campaigns/trust-race-kinds.ts'

type Runnable = Pick<Campaign, 'run'>

/** Small counts of what `npm run campaign -- ci` and the long runs do, on three instances each where they need several. */
describe('campaigns over several instances', () => {
  it.each<[string, number, () => Promise<Runnable>]>([
    [
      'one-winner',
      1,
      async () => ({ run: (options) => runTracks({ ...options, callers: 20 }, ONE_WINNER, [retention]) }),
    ],
    ['replay', 200, () => import('../campaigns/replay.ts')],
    ['transition-kills', 6, () => import('../campaigns/transition-kills.ts')],
    ['outside-reader', 2, () => import('../campaigns/outside-reader.ts')],
    ['database-kills', 2, () => import('../campaigns/database-kills.ts')],
    ['failover', 1, () => import('../campaigns/failover.ts')],
    ['partition', 3, () => import('../campaigns/partition.ts')],
    ['paused-lease', 1, () => import('../campaigns/paused-lease.ts')],
    ['restore', 1, () => import('../campaigns/restore.ts')],
  ])(
    '%s finds no promise broken in %i cases',
    async (name, count, load) => {
      const seed = randomInt(2 ** 32)
      // Printed always: with it the same choices can be made again.
      process.stdout.write(`${name} seed ${seed}\n`)
      const lines: string[] = []
      const result = await (await load()).run({ count, seed, log: (line) => lines.push(line) })
      expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
      expect(result).toEqual({ cases: count, violations: 0 })
    },
    300_000,
  )
})
