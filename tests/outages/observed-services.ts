import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { type Instant, readJson, writeInstant, writeJson } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  enroll,
  nodeCaller,
  startGatewayProcess,
  testClient,
  testNetwork,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type { GatewayProcess } from '@chancery/testkit'
import type { ScrapeTarget } from '../campaigns/operate/alarms.ts'
import { authorityTargets } from '../campaigns/operate/tools.ts'
import type { FaultInstances } from '../campaigns/faults/fault-instances.ts'

const ROUND_MS = 1000
const WATCHER = testClient('watcher', [], { metrics: true })

/** Authority, gateway and callers of both, while an outage is recorded. */
export interface ObservedServices {
  readonly targets: readonly ScrapeTarget[]
  close(): Promise<void>
}

/** `more` are settings of the gateway. */
export async function openObserved(
  instances: FaultInstances,
  more: Readonly<Record<string, string>> = {},
): Promise<ObservedServices> {
  const home = await mkdtemp(join(tmpdir(), 'chancery-observed-'))
  const caller = testClient('caller', [instances.network.name], {
    service_groups: ['network', 'administration'],
    authority_admin: true,
  })
  const gateway = await openGateway(instances, home, [WATCHER, caller], more)
  const target: ScrapeTarget = {
    job: 'chancery-gateway',
    instance: 'gw1',
    async read() {
      const { status, text } = await gateway.request('GET', '/metrics', { token: WATCHER.token })
      if (status !== 200) throw new Error(`/metrics answered ${status}`)
      return text
    },
  }
  const callers = await startCallers(instances, gateway.url, caller.token)
  return {
    targets: [...authorityTargets(instances.processes), target],
    async close() {
      await callers.stop()
      await gateway.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function openGateway(
  { network, processes }: FaultInstances,
  home: string,
  clients: readonly ReturnType<typeof testClient>[],
  more: Readonly<Record<string, string>>,
): Promise<GatewayProcess> {
  const [first] = processes
  if (first === undefined) throw new Error('no instance')
  const list = readJson((await first.request('GET', '/crl')).text) as never
  const by = { network: network.name, keyId: network.authority.keyId, signer: network.authority }
  const upstream = { authority_url: first.url, crl_url: `${first.url}/crl`, allow_http: true }
  const env = {
    GATEWAY_POLICY_FILE: join(home, 'policy.json'),
    GATEWAY_STATE_FILE: join(home, 'state', 'gateway.state'),
    GATEWAY_LOG_LEVEL: 'error',
    ...more,
  }
  await mkdir(join(home, 'state'))
  const policy = testPolicy({ [network.name]: testNetwork(by, list, upstream) }, clients)
  await writeFile(env.GATEWAY_POLICY_FILE, writeJson(policy), { mode: 0o600 })
  const settings = requireValues(readGatewaySettings({ flags: {}, env }))
  await initializeState(settings, { clock: systemClock, ids: systemIds })
  const gateway = await startGatewayProcess(env)
  if (gateway === undefined) throw new Error('the gateway did not start')
  return gateway
}

/** Every second a readiness check, reads, a heartbeat and a change at each instance, and a read and a change through the gateway. */
async function startCallers(
  instances: FaultInstances,
  gatewayUrl: string,
  token: string,
): Promise<{ stop(): Promise<void> }> {
  const { network, processes } = instances
  const [first] = processes
  if (first === undefined) throw new Error('no instance')
  const now = (): Instant => systemClock.now() + BigInt(instances.clockOffsetMs) * 1000n
  const node = nodeCaller(first.url, await testSigner('node', 'observed'), now)
  const { cert_id } = await enroll(first, node, { max_validity_hours: 72 }, { validity_hours: 72 })
  const through = createAuthorityClient({
    through: { url: gatewayUrl, token, network: network.name },
    operator: { signer: network.operators.privileged, audience: network.authority.publicKey },
    retry: false,
  })
  let isOver = false
  const round = async (): Promise<void> => {
    const calls = processes.flatMap((process) => [
      process.request('GET', '/crl'),
      process.request('GET', '/sovereign-revocation-feed'),
      process.as('privileged')('POST', '/admin/invite', {}, { timestamp: writeInstant(now()) }),
    ])
    // Refusals are part of the outage: the services count them.
    await Promise.allSettled([...calls, node.heartbeat(cert_id), through.crl.current(), through.enrollment.invite()])
  }
  // As a balancer asks.
  const probe = (): Promise<unknown> =>
    Promise.allSettled(processes.map((process) => process.request('GET', '/readyz')))
  const repeat = async (calls: () => Promise<unknown>): Promise<void> => {
    while (!isOver) {
      const next = performance.now() + ROUND_MS
      await calls()
      await pause(Math.max(0, next - performance.now()))
    }
  }
  const work = Promise.all([repeat(round), repeat(probe)])
  return {
    stop: async () => {
      isOver = true
      await work
    },
  }
}
