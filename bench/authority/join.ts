import { randomUUID } from 'node:crypto'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { measureAgainstLimit } from '../lib/node-bench.ts'
import { joinRows } from '../lib/raw-inserts.ts'
import { openAuthority } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'
import { makeNodes, proof, seedInvites } from '../lib/test-nodes.ts'
import { limitOf } from '../lib/theoretical-limit.ts'

const BAR = 0.5

/** Every join has a new key and a new invite. */
export const join: Bench = { name: 'join', says: 'POST /join against the limit formula', run }

async function run(options: BenchOptions): Promise<BenchResult> {
  const { database, processes } = await openAuthority(options, { processes: 2 })
  const figures = await measureAgainstLimit(
    {
      path: '/join',
      bodies: async (count) => {
        const tokens = Array.from({ length: count }, () => randomUUID())
        await seedInvites(database.url, tokens)
        return makeNodes(count).map((node, index) =>
          proof({ invite_token: tokens[index] ?? '', validity_hours: 24 }, node),
        )
      },
      database,
      processes,
      statement: joinRows(),
      batch: 50,
      // The proof of the node, and the issued signature before it is stored (decision 0002).
      verifications: 2,
      signatures: 1,
      perSecond: 6000,
    },
    options,
  )
  const ratio_without_self_check = round(figures.rate / limitOf(figures.bare, 1, 1))
  return { bar: BAR, ...figures, ratio_without_self_check }
}
