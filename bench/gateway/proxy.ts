import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type JsonObject, readRevocationList, writeJson } from '@chancery/protocol'
import { type TestClient, testClient, testPolicy } from '@chancery/testkit'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { comparedServer, copyDocument } from '../lib/compared-servers.ts'
import { HOST } from '../lib/conditions.ts'
import { postgresPids } from '../lib/cpu.ts'
import { ratioFigures, roundFigures, serverFigures } from '../lib/figures.ts'
import type { RequestPlan } from '../lib/load-task.ts'
import { LoadGenerator } from '../lib/load.ts'
import { measure } from '../lib/measure.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { openAuthority, type Server, startGateway } from '../lib/servers.ts'
import { httpCheck } from './http-check.ts'

const BAR = 0.5
const NETWORK = 'bench-network'
/** As many requests for each gateway process as the authority answers in the usual time. */
const WARM_UP_SECONDS = 8
const SERVICES = `/v1/networks/${NETWORK}/services`

/** Reads sent directly and through the gateway: a document from memory, and a signed read with replay protection. */
const READS = [
  { name: 'crl', path: '/crl', operation: 'crl-get-crl', isSigned: false },
  { name: 'history', path: '/admin/policy/history', operation: 'admin-policy-history', isSigned: true },
] as const

/**
 * As many gateway processes as the machine has cores, in front of one authority process; all of them share the cores
 * with the load. Audit lines are discarded.
 */
export const gatewayProxy: Bench = {
  name: 'gateway-proxy',
  says: 'a GET through the gateway against the same GET straight to the authority; the slower of two reads counts',
  run,
  cases: { check: httpCheck },
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory, profileDirectory } = options
  const { network, database, server: authority } = await openAuthority({ ...options, profileDirectory: undefined })
  const caller = testClient('caller', [NETWORK], {
    requests_per_minute: 1_000_000,
    service_groups: ['network', 'administration'],
    authority_admin: true,
  })
  const env = await writePolicy(directory, authority, network, caller)
  const gateways: Server[] = []
  for (let n = 0; n < availableParallelism(); n += 1) gateways.push(await startGateway(env, cleanup, profileDirectory))
  const [gateway, ...more] = gateways
  if (gateway === undefined) throw new Error('no processor')
  // The first read of the policy creates the only version in the history.
  await copyDocument(authority, '/policy')
  const headers = { Authorization: `Bearer ${caller.token}` }
  await requireSameBytes(authority, gateway, headers)

  const generator = LoadGenerator.open(cleanup)
  const groups = READS.map(({ name, path, operation, isSigned }) => {
    const through = `${SERVICES}/${operation}`
    const straightPlan = isSigned ? signedPlan(network, path) : { kind: 'plain' as const, path }
    const throughPlan = isSigned
      ? { ...signedPlan(network, path), sentTo: through, headers }
      : { kind: 'plain' as const, path: through, headers }
    return [
      comparedServer(`straight ${name}`, authority, straightPlan, generator),
      {
        ...comparedServer(`through ${name}`, gateway, throughPlan, generator, more),
        ...(isSigned ? {} : { warmUpSeconds: WARM_UP_SECONDS }),
      },
    ]
  })
  const own = [process.pid, generator.pid, authority.pid, ...gateways.map(({ pid }) => pid)]
  const rounds = await measure(groups, { ...options, ownPids: () => [...own, ...postgresPids([database.name])] })
  const figures = READS.flatMap(({ name }, index) => {
    const each = rounds[index]
    return each === undefined ? [] : [{ name, rounds: each }]
  })
  const ratios = Object.fromEntries(
    figures.map(({ name, rounds: each }) => [name, ratioFigures(each, `through ${name}`, `straight ${name}`)]),
  )
  return {
    ratio: Math.min(...Object.values(ratios).map(({ ratio }) => ratio)),
    bar: BAR,
    ...roundFigures(rounds),
    reads: ratios,
    contenders: Object.fromEntries(
      figures.flatMap(({ name, rounds: each }) =>
        [`straight ${name}`, `through ${name}`].map((who) => [who, serverFigures(each, who)]),
      ),
    ),
  }
}

function signedPlan({ audience, operator }: BenchNetwork, path: string): Extract<RequestPlan, { kind: 'operator' }> {
  return { kind: 'operator', path, audience, keyId: operator.keyId, seed: operator.seed }
}

/** The responses must be equal; otherwise the times could not be compared. */
async function requireSameBytes(authority: Server, gateway: Server, headers: Record<string, string>): Promise<void> {
  const straight = await fetch(`http://${HOST}:${authority.port}/crl`)
  const through = await fetch(`http://${HOST}:${gateway.port}${SERVICES}/crl-get-crl`, { headers })
  if (through.status !== 200 || (await straight.text()) !== (await through.text()))
    throw new Error(`the gateway gives another document (${through.status})`)
}

async function writePolicy(
  directory: string,
  authority: Server,
  network: BenchNetwork,
  caller: TestClient,
): Promise<NodeJS.ProcessEnv> {
  const url = `http://${HOST}:${authority.port}`
  const crl = readRevocationList((await (await fetch(`${url}/crl`)).json()) as JsonObject)
  const entry = {
    anchors: { [crl.issuer]: network.audience },
    crl: { ...crl },
    minimum_crl_sequence: 0,
    authority_url: url,
    allow_http: true,
  }
  const file = join(directory, 'policy.json')
  await writeFile(file, writeJson(testPolicy({ [NETWORK]: entry }, [caller])), { mode: 0o600 })
  return { GATEWAY_POLICY_FILE: file, GATEWAY_MAX_INFLIGHT: '4096', NODE_ENV: 'production', GATEWAY_LOG_LEVEL: 'error' }
}
