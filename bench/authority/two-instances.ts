import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, seedSigner } from '@chancery/protocol'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { CONNECTIONS, HOST, MAX_FOREIGN_CORES, MEASURE_SECONDS_MAX, WARM_UP_SECONDS } from '../lib/conditions.ts'
import { OtherLoad, postgresPids } from '../lib/cpu.ts'
import { type Database, createPostgres } from '../lib/databases.ts'
import { post, signAll } from './evaluate.ts'
import { LoadGenerator } from '../lib/load.ts'
import { type BenchNetwork, createNetwork } from '../lib/network.ts'
import { type NodeFigures, measureAgainstLimit } from '../lib/node-bench.ts'
import { type Server, startAuthority } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'
import { agreementBody, decisionBody, newSigner } from '../lib/trust-records.ts'
import { repeated } from './verify.ts'

const VERIFY_BAR = 0.6
/** Two instances share the lock on the head of the chain; together they must not be slower than one. */
const EVALUATE_BAR = 1
const SIGNERS = 16
const VERIFY_PER_SECOND = 16_000
const EVALUATE_PER_SECOND = 3000
const EVALUATE = '/admin/boundary/evaluate'
const CAPABILITY = 'secret.rotate'

/** Two instances as operators run them: HA mode, one database, limits in one Redis, evidence store on. */
export const twoInstances: Bench = {
  name: 'two-instances',
  says: `verify routes of two instances against the limit formula; ${EVALUATE} with evidence on, two against one`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory, profileDirectory } = options
  const network = await createNetwork(directory)
  const database = await createPostgres(cleanup)
  const settings = {
    NA_HA_MODE: 'on',
    RATE_LIMIT_STORE: 'redis',
    REDIS_URL: process.env['CHANCERY_TEST_REDIS'] ?? 'redis://127.0.0.1:6379',
    EVIDENCE_STORE: 'on',
    NA_ANCHOR_INTERVAL_SECONDS: '0',
  }
  const start = (): Promise<Server> => startAuthority({ network, database, profileDirectory, settings }, cleanup)
  const instances = [await start(), await start()] as const
  const boundary = await measureVerify('/boundary/verify', 1, { instances, database }, options)
  const agreements = await measureVerify('/agreements/verify', 2, { instances, database }, options)
  const evaluate = await measureEvaluate({ instances, database, network }, options)
  return { bar: VERIFY_BAR, ratio: Math.min(boundary.ratio, agreements.ratio), boundary, agreements, evaluate }
}

interface Instances {
  readonly instances: readonly [Server, Server]
  readonly database: Database
}

async function measureVerify(
  path: string,
  verifications: 1 | 2,
  { instances, database }: Instances,
  options: BenchOptions,
): Promise<NodeFigures> {
  const signers = await Promise.all(Array.from({ length: SIGNERS }, (_, n) => newSigner(`party-${n}`)))
  const signerAt = (at: number) => signers[at % SIGNERS] ?? newSigner('none')
  const body = async (at: number): Promise<string> =>
    verifications === 1 ? decisionBody(await signerAt(at)) : agreementBody(await signerAt(at), await signerAt(at + 1))
  const bodies = (count: number): Promise<readonly string[]> => repeated(count, body)
  const work = { path, bodies, database, processes: instances, verifications, signatures: 0 }
  return measureAgainstLimit({ ...work, perSecond: VERIFY_PER_SECOND }, options)
}

/** Alternates one instance and both inside every round and uses the median of the in-round ratios. */
async function measureEvaluate(
  { instances, database, network }: Instances & { readonly network: BenchNetwork },
  options: BenchOptions,
): Promise<object> {
  const signer = await seedSigner(network.operator.keyId, network.operator.seed)
  const claims = { capabilities: [CAPABILITY] }
  const member = { subject_id: 'vendor', roles: ['role:client'], claims }
  const { attestation_id = null } = await post(instances[0].port, '/admin/attestations', member, network, signer)
  const asked: JsonObject = { attestation_id, requested_capability: CAPABILITY }
  const generator = new LoadGenerator()
  options.cleanup.add(() => generator.close())
  const slice = async (servers: readonly Server[], seconds: number): Promise<number> => {
    const file = join(options.directory, 'evaluate.txt')
    await writeFile(file, (await signAll(Math.ceil(EVALUATE_PER_SECOND * seconds), asked, network, signer)).join('\n'))
    const [first, ...more] = servers.map((server) => server.port)
    const plan = { kind: 'signed-bodies' as const, path: EVALUATE, file }
    const load = { plan, host: HOST, port: first ?? 0, morePorts: more, connections: CONNECTIONS }
    return (await generator.run({ ...load, seconds, maxRequests: EVALUATE_PER_SECOND * 2 })).rate
  }
  await slice(instances, WARM_UP_SECONDS)
  const own = (): number[] => [
    process.pid,
    generator.pid,
    ...instances.map((server) => server.pid),
    ...postgresPids([database.name]),
  ]
  const [calm, disturbed]: [Round[], Round[]] = [[], []]
  const deadline = performance.now() + MEASURE_SECONDS_MAX * 1000
  while (calm.length < options.rounds && performance.now() < deadline) {
    const otherLoad = new OtherLoad(own)
    otherLoad.start()
    // One before and one after, so that a machine that slows down favours neither.
    const before = await slice([instances[0]], options.seconds / 2)
    const two = await slice(instances, options.seconds)
    const after = await slice([instances[1]], options.seconds / 2)
    const figures = { one: (before + after) / 2, two }
    const isCalm = otherLoad.cores() <= MAX_FOREIGN_CORES
    ;(isCalm ? calm : disturbed).push(figures)
    options.progress(`${isCalm ? 'kept' : 'loud'}: one ${Math.round(figures.one)}/s, two ${Math.round(two)}/s`)
  }
  return summarize(calm.length * 2 >= options.rounds ? calm : [...calm, ...disturbed], disturbed.length)
}

interface Round {
  readonly one: number
  readonly two: number
}

function summarize(rounds: readonly Round[], discarded: number): object {
  return {
    bar: EVALUATE_BAR,
    ratio: round(median(rounds.map(({ one, two }) => two / one))),
    one_rate: round(median(rounds.map(({ one }) => one)), 0),
    two_rate: round(median(rounds.map(({ two }) => two)), 0),
    discarded,
  }
}
