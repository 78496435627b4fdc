import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@chancery/protocol'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { CONNECTIONS, HOST, WARM_UP_SECONDS } from '../lib/conditions.ts'
import { OtherLoad, postgresPids } from '../lib/cpu.ts'
import type { Database } from '../lib/databases.ts'
import { LoadGenerator } from '../lib/load.ts'
import { repeatCalm } from '../lib/measure.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { measureAgainstLimit, type NodeFigures } from '../lib/node-bench.ts'
import { operatorOf } from '../lib/operator.ts'
import { signAll } from '../lib/requests.ts'
import { openAuthority, type Server } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'
import { agreementBody, decisionBody, newSigner } from '../lib/trust-records.ts'
import { repeated } from './verify.ts'
import { workers } from './workers.ts'

const VERIFY_BAR = 0.6
/** Two instances share the lock on the head of the chain; together they must not be slower than one. */
const EVALUATE_BAR = 1
const SIGNERS = 16
const VERIFY_PER_SECOND = 16_000
const EVALUATE_PER_SECOND = 3000
const EVALUATE = '/admin/boundary/evaluate'
const CAPABILITY = 'secret.rotate'

/** Two instances as operators run them: HA mode, one database, limits in one Redis, evidence store on. */
export const scale: Bench = {
  name: 'scale',
  says: `verify routes of two instances against the limit formula; ${EVALUATE} with evidence on, two against one`,
  run,
  cases: { workers },
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const settings = {
    NA_HA_MODE: 'on',
    RATE_LIMIT_STORE: 'redis',
    REDIS_URL: process.env['CHANCERY_TEST_REDIS'] ?? 'redis://127.0.0.1:6379',
    EVIDENCE_STORE: 'on',
    NA_ANCHOR_INTERVAL_SECONDS: '0',
  }
  const { network, database, processes } = await openAuthority(options, { processes: 2, settings })
  const [one, other] = processes
  if (one === undefined || other === undefined) throw new Error('two instances are started')
  const instances = [one, other] as const
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
  const operator = await operatorOf(network, instances[0].port)
  const claims = { capabilities: [CAPABILITY] }
  const member = { subject_id: 'vendor', roles: ['role:client'], claims }
  const { attestation_id = null } = await operator.post('/admin/attestations', member)
  const asked: JsonObject = { attestation_id, requested_capability: CAPABILITY }
  const generator = LoadGenerator.open(options.cleanup)
  const slice = async (servers: readonly Server[], seconds: number): Promise<number> => {
    const file = join(options.directory, 'evaluate.txt')
    await writeFile(
      file,
      (await signAll(EVALUATE, Math.ceil(EVALUATE_PER_SECOND * seconds), asked, network)).join('\n'),
    )
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
  const { used, discarded } = await repeatCalm(options, async () => {
    const otherLoad = new OtherLoad(own)
    otherLoad.start()
    // One before and one after, so that a machine that slows down favours neither.
    const before = await slice([instances[0]], options.seconds / 2)
    const two = await slice(instances, options.seconds)
    const after = await slice([instances[1]], options.seconds / 2)
    const figures = { one: (before + after) / 2, two }
    const line = `one ${Math.round(figures.one)}/s, two ${Math.round(two)}/s`
    return { figures, foreignCores: otherLoad.cores(), line }
  })
  return {
    bar: EVALUATE_BAR,
    ratio: round(median(used.map(({ one, two }) => two / one))),
    one_rate: round(median(used.map(({ one }) => one)), 0),
    two_rate: round(median(used.map(({ two }) => two)), 0),
    discarded,
  }
}
