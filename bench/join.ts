import { randomUUID } from 'node:crypto'
import { joinRows } from './bare-rows.ts'
import type { Bench, BenchOptions, BenchResult } from './bench.ts'
import { createPostgres } from './databases.ts'
import { makeNodes, proof, seedInvites } from './fleet.ts'
import { createNetwork } from './network.ts'
import { measureAgainstLimit } from './node-bench.ts'
import { startAuthority } from './servers.ts'

const BAR = 0.45

/** Every join brings a key and an invite of its own. */
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
      verifications: 1,
      signatures: 1,
      perSecond: 6000,
    },
    options,
  )
  return { bar: BAR, ...figures }
}
