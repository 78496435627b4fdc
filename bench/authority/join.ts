import { randomUUID } from 'node:crypto'
import { joinRows } from '../lib/raw-inserts.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { createPostgres } from '../lib/databases.ts'
import { makeNodes, proof, seedInvites } from '../lib/test-nodes.ts'
import { createNetwork } from '../lib/network.ts'
import { measureAgainstLimit } from '../lib/node-bench.ts'
import { startAuthority } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'
import { limitOf } from '../lib/theoretical-limit.ts'

const BAR = 0.5

/** Every join has a new key and a new invite. */
export const join: Bench = { name: 'join', says: 'POST /join against the limit formula', run }

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory, profileDirectory } = options
  const network = await createNetwork(directory)
  const database = await createPostgres(cleanup)
  const processes = [
    await startAuthority({ network, database, profileDirectory }, cleanup),
    await startAuthority({ network, database, profileDirectory }, cleanup),
  ]
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
