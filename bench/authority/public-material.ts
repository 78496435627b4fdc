import type { BaselineDocument } from '../lib/baseline-task.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { comparedServer, copyDocument, requireSameResponse } from '../lib/compared-servers.ts'
import { postgresPids } from '../lib/cpu.ts'
import { createPostgres, createSqlite } from '../lib/databases.ts'
import { type RatioFigures, ratioFigures, roundFigures, serverFigures } from '../lib/figures.ts'
import { LoadGenerator } from '../lib/load.ts'
import { type Rounds, measure } from '../lib/measure.ts'
import { createNetwork } from '../lib/network.ts'
import { startAuthority, startBaseline } from '../lib/servers.ts'

const BAR = 0.8
const PATHS = ['/crl', '/genesis'] as const

/** Signed public documents from memory, against the framework with constant text of the same size. */
export const publishedDocuments: Bench = {
  name: 'public-material',
  says: `GET ${PATHS.join(' and GET ')} against constant JSON of the same size; the slower one counts`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory, profileDirectory } = options
  const network = await createNetwork(directory)
  const database = await createPostgres(cleanup)
  const postgres = await startAuthority({ network, database, profileDirectory }, cleanup)
  const sqlite = await startAuthority(
    { network, database: createSqlite(directory), profileDirectory: undefined },
    cleanup,
  )
  const documents = await Promise.all(PATHS.map((path) => copyDocument(postgres, path)))
  const baseline = await startBaseline({ documents }, cleanup)
  for (const path of PATHS) await requireSameResponse(postgres, baseline, path)

  const generator = new LoadGenerator()
  cleanup.add(() => generator.close())
  const servers = Object.entries({ baseline, postgres, sqlite })
  const groups = PATHS.map((path) =>
    servers.map(([name, server]) => comparedServer(`${name}${path}`, server, { kind: 'plain', path }, generator)),
  )
  const own = [process.pid, generator.pid, ...servers.map(([, { pid }]) => pid)]
  const rounds = await measure(groups, { ...options, ownPids: () => [...own, ...postgresPids([database.name])] })
  return report(rounds, documents)
}

function report(groups: readonly Rounds[], documents: readonly BaselineDocument[]): BenchResult {
  const figures = PATHS.flatMap((path, index) => {
    const rounds = groups[index]
    return rounds === undefined ? [] : [{ path, rounds }]
  })
  const ratios = (server: string): Record<string, RatioFigures> =>
    Object.fromEntries(
      figures.map(({ path, rounds }) => [path, ratioFigures(rounds, `${server}${path}`, `baseline${path}`)]),
    )
  const contenders = figures.flatMap(({ path, rounds }) =>
    ['baseline', 'postgres', 'sqlite'].map((server) => [`${server}${path}`, serverFigures(rounds, `${server}${path}`)]),
  )
  const postgres = ratios('postgres')
  return {
    ratio: Math.min(...Object.values(postgres).map(({ ratio }) => ratio)),
    bar: BAR,
    ...roundFigures(groups),
    bytes: Object.fromEntries(documents.map(({ path, body }) => [path, Buffer.byteLength(body)])),
    postgres,
    sqlite: ratios('sqlite'),
    contenders: Object.fromEntries(contenders),
  }
}
