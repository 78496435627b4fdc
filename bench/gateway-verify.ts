import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { availableParallelism } from 'node:os'
import { writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { testCertificate, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestClient, TestIssuer } from '@chancery/testkit'
import type { Bench, BenchOptions, BenchResult } from './bench.ts'
import { HOST } from './conditions.ts'
import { createSqlite } from './databases.ts'
import { measureSignatures } from './limit.ts'
import { measureAgainstLimit } from './node-bench.ts'
import { startGateway } from './servers.ts'
import type { Server } from './servers.ts'
import { median, round } from './statistics.ts'

const BAR = 0.6
const BATCH_BAR = 0.55
const BATCH = 100
const PER_SECOND = 16_000
const DIFFERENT = 500

/** As many processes as the machine has cores; audit lines go nowhere, nothing is written. */
export const gatewayVerify: Bench = {
  name: 'gateway-verify',
  says: 'POST /verify of the gateway against the limit formula, and batches of 100 against the bare verify rate',
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const by = await testIssuer('agency')
  const caller = testClient('caller', ['agency'], { requests_per_minute: 1_000_000 })
  const env = await writePolicy(options, by, caller)
  const processes: Server[] = []
  for (let n = 0; n < availableParallelism(); n += 1) {
    processes.push(await startGateway(env, options.cleanup, options.profileDirectory))
  }
  const certificates = await Promise.all(
    Array.from({ length: DIFFERENT }, () => testCertificate(by, systemClock.now())),
  )
  const headers = { Authorization: `Bearer ${caller.token}` }
  const lines = certificates.map((certificate) => JSON.stringify({ headers, body: JSON.stringify({ certificate }) }))
  const single = await measureAgainstLimit(
    {
      path: '/verify',
      bodies: async (count) => Array.from({ length: count }, (_, at) => lines[at % lines.length] ?? ''),
      database: createSqlite(options.directory),
      processes,
      verifications: 1,
      signatures: 0,
      perSecond: PER_SECOND,
      isSigned: true,
    },
    options,
  )
  const batch = await measureBatches(
    processes,
    JSON.stringify({ certificates: certificates.slice(0, BATCH) }),
    caller,
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
  return { GATEWAY_POLICY_FILE: file, GATEWAY_MAX_INFLIGHT: '4096', NODE_ENV: 'production', GATEWAY_LOG_LEVEL: 'error' }
}

/** One batch after another on every process, beside the bare rate of the same round. */
async function measureBatches(
  processes: readonly Server[],
  body: string,
  caller: TestClient,
  options: BenchOptions,
): Promise<object> {
  const ratios: number[] = []
  for (let turn = 0; turn < options.rounds; turn += 1) {
    const { verify } = await measureSignatures(400, 150)
    const end = performance.now() + options.seconds * 1000
    const start = performance.now()
    const counts = await Promise.all(processes.map((server) => runBatches(server, body, caller, end)))
    const rate = (counts.reduce((sum, count) => sum + count, 0) * 1000) / (performance.now() - start)
    ratios.push(rate / (availableParallelism() * verify))
  }
  return { ratio: round(median(ratios)), bar: BATCH_BAR, ratios: ratios.map((ratio) => round(ratio)) }
}

async function runBatches({ port }: Server, body: string, { token }: TestClient, end: number): Promise<number> {
  let judged = 0
  while (performance.now() < end) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`http://${HOST}:${port}/verify/batch`, { method: 'POST', headers, body })
    if (answer.status !== 200) throw new Error(`a batch was answered ${answer.status}`)
    await answer.arrayBuffer()
    judged += BATCH
  }
  return judged
}
