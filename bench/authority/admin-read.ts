import { operatorBytes } from '@chancery/protocol'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { comparedServer, copyDocument, requireSameResponse } from '../lib/compared-servers.ts'
import { postgresPids } from '../lib/cpu.ts'
import { createPostgres, createSqlite } from '../lib/databases.ts'
import { serverFigures, ratioFigures, roundFigures } from '../lib/figures.ts'
import { LoadGenerator } from '../lib/load.ts'
import { measure } from '../lib/measure.ts'
import { type BenchNetwork, createNetwork } from '../lib/network.ts'
import { type OperatorPlan, operatorHeaders, operatorRequest } from '../lib/requests.ts'
import { startAuthority, startBaseline } from '../lib/servers.ts'

const BAR = 0.5
const PATH = '/admin/policy/history'

/** A signed read with replay protection, against the framework with one bare verification and one bare nonce insert. */
export const adminRead: Bench = {
  name: 'admin-read',
  says: `operator-signed GET ${PATH} against body read, one Ed25519 verify and one nonce insert`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory, profileDirectory } = options
  const network = await createNetwork(directory)
  const plan = operatorPlan(network)
  const sign = await operatorHeaders(plan)

  const productDatabase = await createPostgres(cleanup)
  const baselineDatabase = await createPostgres(cleanup)
  const postgres = await startAuthority({ network, database: productDatabase, profileDirectory }, cleanup)
  const sqlite = await startAuthority(
    { network, database: createSqlite(directory), profileDirectory: undefined },
    cleanup,
  )
  // The first read of the policy creates the only version in the history.
  for (const server of [postgres, sqlite]) await copyDocument(server, '/policy')
  const document = await copyDocument(postgres, PATH, await sign())
  const signed = { ...operatorRequest(plan), key_id: plan.keyId }
  const work = { messageBytes: operatorBytes(signed).length, databaseUrl: baselineDatabase.url }
  const baseline = await startBaseline({ documents: [document], work }, cleanup)
  await requireSameResponse(postgres, baseline, PATH, sign)

  const generator = new LoadGenerator()
  cleanup.add(() => generator.close())
  const servers = Object.entries({ baseline, postgres, sqlite })
  const contenders = servers.map(([name, server]) => comparedServer(name, server, plan, generator))
  const own = [process.pid, generator.pid, ...servers.map(([, { pid }]) => pid)]
  const databases = [productDatabase.name, baselineDatabase.name]
  const [rounds] = await measure([contenders], { ...options, ownPids: () => [...own, ...postgresPids(databases)] })

  if (rounds === undefined) throw new Error('nothing was measured')
  const onPostgres = ratioFigures(rounds, 'postgres', 'baseline')
  return {
    ratio: onPostgres.ratio,
    bar: BAR,
    ...roundFigures([rounds]),
    bytes: Buffer.byteLength(document.body),
    signed_bytes: work.messageBytes,
    postgres: onPostgres,
    sqlite: ratioFigures(rounds, 'sqlite', 'baseline'),
    contenders: Object.fromEntries(contenders.map(({ name }) => [name, serverFigures(rounds, name)])),
  }
}

function operatorPlan({ audience, operator }: BenchNetwork): OperatorPlan {
  return { kind: 'operator', path: PATH, audience, keyId: operator.keyId, seed: operator.seed }
}
