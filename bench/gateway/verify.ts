import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { testCertificate, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestClient, TestIssuer } from '@chancery/testkit'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { createSqlite } from '../lib/databases.ts'
import { measureAgainstLimit } from '../lib/node-bench.ts'
import { type Server, startGateway } from '../lib/servers.ts'
import { BATCH, BATCHES_AT_ONCE, measureBatches } from './batches.ts'

const BAR = 0.6
const PER_SECOND = 16_000
const DIFFERENT = 500
/**
 * Warm-up slices. After these, each gateway process has answered about as many requests as the faster echo after one.
 */
const WARM_UPS = 5

/** As many processes as the machine has cores; audit lines are discarded, nothing is written. */
export const gatewayVerify: Bench = {
  name: 'gateway-verify',
  says: 'POST /verify of the gateway against the limit formula, and batches of 100 against the bare verify rate',
  run,
}

/** The policy of a gateway with one caller, who may verify certificates of one issuer. */
export async function openGatewayCaller(
  options: BenchOptions,
): Promise<{ readonly by: TestIssuer; readonly caller: TestClient; readonly env: NodeJS.ProcessEnv }> {
  const by = await testIssuer('agency')
  const caller = testClient('caller', ['agency'], { requests_per_minute: 1_000_000 })
  return { by, caller, env: await writePolicy(options, by, caller) }
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { by, caller, env } = await openGatewayCaller(options)
  const processes: Server[] = []
  for (let n = 0; n < availableParallelism(); n += 1) {
    processes.push(await startGateway(env, options.cleanup, options.profileDirectory))
  }
  const certificates = await Promise.all(
    Array.from({ length: DIFFERENT }, () => testCertificate(by, systemClock.now())),
  )
  const bodies = certificates.map((certificate) => JSON.stringify({ certificate }))
  const headers = { Authorization: `Bearer ${caller.token}` }
  const lines = bodies.map((body) => JSON.stringify({ headers, body }))
  const single = await measureAgainstLimit(
    {
      path: '/verify',
      bodies: async (count) => Array.from({ length: count }, (_, at) => lines[at % lines.length] ?? ''),
      database: createSqlite(options.directory),
      processes,
      verifications: 1,
      signatures: 0,
      perSecond: PER_SECOND,
      warmUps: WARM_UPS,
      isSigned: true,
    },
    options,
  )
  const batch = await measureBatches(
    {
      processes,
      token: caller.token,
      batch: JSON.stringify({ certificates: certificates.slice(0, BATCH) }),
      single: bodies[0] ?? '',
    },
    options,
  )
  return { bar: BAR, ...single, batch }
}

async function writePolicy(
  { directory }: BenchOptions,
  by: TestIssuer,
  caller: TestClient,
): Promise<NodeJS.ProcessEnv> {
  const network = testNetwork(by, await testList(by, systemClock.now()))
  const file = join(directory, 'policy.json')
  await writeFile(file, writeJson(testPolicy({ agency: network }, [caller])), { mode: 0o600 })
  return {
    GATEWAY_POLICY_FILE: file,
    GATEWAY_MAX_INFLIGHT: '4096',
    GATEWAY_CPU_WORKERS: String(BATCHES_AT_ONCE + 1),
    GATEWAY_MAX_BATCH_JOBS: String(BATCHES_AT_ONCE),
    GATEWAY_LOG_LEVEL: 'error',
    NODE_ENV: 'production',
  }
}
