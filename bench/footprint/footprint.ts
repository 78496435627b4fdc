import { fileURLToPath } from 'node:url'
import { seedSigner } from '@chancery/protocol'
import { freePort } from '@chancery/testkit'
import { ListServer } from '../gateway/list-server.ts'
import { openGatewayCaller } from '../gateway/verify.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { createSqlite } from '../lib/databases.ts'
import { type BenchNetwork, createNetwork } from '../lib/network.ts'
import { median, round } from '../lib/statistics.ts'
import { type Ended, type Idle, measureIdle, type Program, runToEnd } from './programs.ts'

const CHANCERY = fileURLToPath(new URL('../../apps/cli/bin/chancery.mjs', import.meta.url))
const LIMITS = { node_run_mib: 60, authority_mib: 100, gateway_mib: 120, version_cpu_seconds: 0.15 } as const
const BAR = 1

/** What each program takes while it has nothing to do, and until it can do something. */
export const footprint: Bench = {
  name: 'footprint',
  says: `memory and start of the built command: idle node run under ${LIMITS.node_run_mib} MiB, authority under ${LIMITS.authority_mib}, gateway under ${LIMITS.gateway_mib}, --version under ${LIMITS.version_cpu_seconds} s of processor time; the ratio is the smallest of limit over figure`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const network = await createNetwork(options.directory)
  const lists = await ListServer.open(network, await seedSigner('bench-authority', network.authority.seed), options)
  await lists.publish(0)
  const home = await lists.makeHome('node')
  const ended = await measureEnded(options, home)
  const idle = await measureServices(options, network, home)
  const ratios = {
    node_run: LIMITS.node_run_mib / idle.node_run.rssMib,
    authority: LIMITS.authority_mib / idle.authority.rssMib,
    gateway: LIMITS.gateway_mib / idle.gateway.rssMib,
    version: LIMITS.version_cpu_seconds / ended.version.cpuSeconds,
  }
  return {
    ratio: round(Math.min(...Object.values(ratios))),
    bar: BAR,
    limits: LIMITS,
    ended,
    idle,
    of_bare_node: {
      version_cpu: round(ended.version.cpuSeconds / ended.bare.cpuSeconds),
      ask_cpu: round(ended.ask.cpuSeconds / ended.bare.cpuSeconds),
      ask_peak: round(ended.ask.peakMib / ended.bare.peakMib),
      node_run_rss: round(idle.node_run.rssMib / idle.bare.rssMib),
      node_run_pss: round(idle.node_run.pssMib / idle.bare.pssMib),
      authority_rss: round(idle.authority.rssMib / idle.bare.rssMib),
      gateway_rss: round(idle.gateway.rssMib / idle.bare.rssMib),
    },
  }
}

type EndedName = 'bare' | 'version' | 'ask'

/** In turn, so that a machine whose speed changes treats all alike; each figure is the median. */
async function measureEnded(
  { directory, rounds, progress }: BenchOptions,
  home: string,
): Promise<Readonly<Record<EndedName, Ended>>> {
  const found: Record<EndedName, Ended[]> = { bare: [], version: [], ask: [] }
  // The server of the lists decides nothing: the question is sent, and the answer is a refusal.
  const ask = [CHANCERY, 'ask', 'ledger.read', '--attestation', 'attestation-1', '--home', home]
  for (let at = 0; at < rounds; at += 1) {
    found.bare.push(await runToEnd({ args: ['-e', ''], directory }, 0))
    found.version.push(await runToEnd({ args: [CHANCERY, '--version'], directory }, 0))
    found.ask.push(await runToEnd({ args: ask, directory }, 2))
  }
  const middle = (name: EndedName): Ended => ({
    cpuSeconds: median(found[name].map((each) => each.cpuSeconds)),
    wallSeconds: median(found[name].map((each) => each.wallSeconds)),
    peakMib: median(found[name].map((each) => each.peakMib)),
  })
  const ended = { bare: middle('bare'), version: middle('version'), ask: middle('ask') }
  for (const [name, { cpuSeconds }] of Object.entries(ended)) progress(`${name}: ${cpuSeconds} s of processor time`)
  return ended
}

type IdleName = 'bare' | 'node_run' | 'authority' | 'gateway'

async function measureServices(
  options: BenchOptions,
  network: BenchNetwork,
  home: string,
): Promise<Readonly<Record<IdleName, Idle>>> {
  const { directory, progress } = options
  const measure = async (name: IdleName, program: Omit<Program, 'directory'>, isReady: IsReady): Promise<Idle> => {
    const idle = await measureIdle({ ...program, directory }, isReady)
    progress(`${name}: ${idle.rssMib} MiB resident, ${idle.pssMib} MiB with shared pages in part`)
    return idle
  }
  const bare = await measure('bare', { args: ['-e', 'console.log(1); setInterval(() => undefined, 1000)'] }, says('1'))
  const node_run = await measure(
    'node_run',
    { args: [CHANCERY, 'node', 'run', '--crl', '--home', home] },
    says('"crl_sequence":1,"revoked_count"'),
  )
  const { keyId, publicKey } = network.operator
  const port = await freePort()
  const authority = await measure(
    'authority',
    {
      args: [CHANCERY, 'authority', 'start'],
      env: {
        LOG_LEVEL: 'warn',
        RATE_LIMIT_STORE: 'memory',
        GENESIS_FILE: network.genesisFile,
        NA_PRIVATE_KEY_FILE: network.privateKeyFile,
        DATABASE_URL: createSqlite(directory).url,
        OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ [keyId]: publicKey }),
        OPERATOR_KEY_TIERS_JSON: JSON.stringify({ [keyId]: 'privileged' }),
        HOST,
        PORT: String(port),
      },
    },
    responds(port, '/healthz'),
  )
  const gatewayPort = await freePort()
  const { env } = await openGatewayCaller(options)
  const gateway = await measure(
    'gateway',
    { args: [CHANCERY, 'gateway', 'start'], env: { ...env, GATEWAY_ADDR: `${HOST}:${gatewayPort}` } },
    responds(gatewayPort, '/health'),
  )
  return { bare, node_run, authority, gateway }
}

type IsReady = (output: string) => Promise<boolean>

function says(text: string): IsReady {
  return (output) => Promise.resolve(output.includes(text))
}

function responds(port: number, path: string): IsReady {
  return async () => {
    try {
      const response = await fetch(`http://${HOST}:${port}${path}`)
      await response.arrayBuffer()
      return response.ok
    } catch (error) {
      // It does not listen yet; measureIdle ends the wait.
      if (error instanceof TypeError) return false
      throw error
    }
  }
}
