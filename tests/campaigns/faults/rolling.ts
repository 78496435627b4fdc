import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  freePort,
  sendGatewayRequest,
  startGatewayProcess,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { GatewayProcess, GatewayResponse } from '@chancery/testkit'
import { startBalancer } from '../../instances/balancer.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { restartInstances, upgradeFromLastRelease, upgradeToNextRelease } from './rolling-instances.ts'

const GATEWAYS = 2
const WORKERS = 6
const SHOWN = 20
const CALM_MS = 1000
const TRUSTED = 'trusted'

/** Rounds in which each of two gateways with durable state is restarted once, while certificates are verified. */
async function restartGateways({ count, log }: CampaignOptions): Promise<CampaignResult> {
  let [cases, violations] = [0, 0]
  const violation = (sentence: string): void => {
    violations += 1
    if (violations <= SHOWN) log(`violation: ${sentence}`)
  }
  const pair = await openPair()
  try {
    const load = startLoad(pair, violation)
    await pause(CALM_MS)
    for (let round = 0; round < count; round += 1) {
      for (let index = 0; index < GATEWAYS; index += 1) {
        cases += 1
        const code = await pair.restart(index)
        if (code !== 0) violation(`gw${index + 1} ended with ${code}`)
      }
    }
    await pause(CALM_MS)
    log(`${await load.stop()} certificates verified`)
  } finally {
    await pair.close()
  }
  return { cases, violations }
}

interface Pair {
  readonly verify: () => Promise<string>
  /** Sends SIGTERM and starts the gateway again on the same port; resolves when it is ready. Returns the exit code. */
  readonly restart: (index: number) => Promise<string | number>
  readonly close: () => Promise<void>
}

/** Callers that verify one certificate after the other. */
function startLoad({ verify }: Pair, violation: (sentence: string) => void): { stop(): Promise<number> } {
  let served = 0
  let isDone = false
  const work = async (): Promise<void> => {
    while (!isDone) {
      const said = await verify().catch((error: unknown) => String(error))
      if (said === TRUSTED) served += 1
      else violation(`verify: answered ${said}`)
    }
  }
  const workers = Array.from({ length: WORKERS }, () => work())
  return {
    async stop() {
      isDone = true
      await Promise.all(workers)
      return served
    },
  }
}

/** Two gateways behind the documented balancer. */
async function openPair(): Promise<Pair> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-rolling-'))
  const by = await testIssuer('agency')
  const now = systemClock.now()
  const [client, list] = [testClient('caller', ['agency'], { requests_per_minute: 1_000_000 }), await testList(by, now)]
  const certificate = await testCertificate(by, now)
  await writePrivate(join(folder, 'policy.json'), writeJson(testPolicy({ agency: testNetwork(by, list) }, [client])))
  const gateways: GatewayProcess[] = []
  const ports = [await freePort(), await freePort()]
  const start = async (index: number): Promise<void> => {
    const started = await startGatewayProcess(envOf(folder, index), ports[index])
    if (started === undefined) throw new Error('a gateway ended before it served')
    gateways[index] = started
    await untilReady((path) => started.request('GET', path))
  }
  for (let index = 0; index < GATEWAYS; index += 1) {
    const settings = requireValues(readGatewaySettings({ flags: {}, env: envOf(folder, index) }))
    await initializeState(settings, { clock: systemClock, ids: systemIds })
    await start(index)
  }
  const port = await freePort()
  const balancer = await startBalancer({ folder, host: '127.0.0.1', port, upstream: ports, service: 'gateway' })
  const url = `http://127.0.0.1:${port}`
  await untilReady((path) => sendGatewayRequest(url, 'GET', path, {}))
  return {
    async verify() {
      const asked = { token: client.token, body: { certificate } }
      const { status, body, text } = await sendGatewayRequest(url, 'POST', '/verify', asked)
      return status === 200 && body['trusted'] === true ? TRUSTED : `${status} ${text.slice(0, 200)}`
    },
    async restart(index) {
      await gateways[index]?.stop()
      const code = (await gateways[index]?.exited) ?? 0
      await start(index)
      return code
    },
    async close() {
      for (const gateway of gateways) await gateway.stop()
      await balancer.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function envOf(folder: string, index: number): Record<string, string> {
  return {
    GATEWAY_POLICY_FILE: join(folder, 'policy.json'),
    GATEWAY_STATE_FILE: join(folder, `gateway-${index + 1}.state`),
    GATEWAY_LOG_LEVEL: 'error',
    GATEWAY_DRAIN_SECONDS: '1',
  }
}

async function untilReady(ask: (path: string) => Promise<GatewayResponse>): Promise<void> {
  for (let tries = 0; tries < 1200; tries += 1) {
    const answer = await ask('/ready').catch(() => undefined)
    if (answer?.status === 200) return
    await pause(25)
  }
  throw new Error('a gateway was not ready')
}

async function writePrivate(file: string, content: string): Promise<void> {
  await writeFile(file, content, { mode: 0o600 })
}

export const summary =
  'authorities and gateways restarted one by one, and upgraded from the release before, under load: no request fails'
export const defaultCount = 3

const PARTS = [restartInstances, upgradeFromLastRelease, upgradeToNextRelease, restartGateways] as const

/** Each case stops and starts one process. `count` is the number of rounds; an upgrade is one round. */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  let [cases, violations] = [0, 0]
  for (const part of PARTS) {
    const result = await part({
      count,
      seed,
      log: (line) => log(line.startsWith('violation') ? line : `${part.name}: ${line}`),
    })
    cases += result.cases
    violations += result.violations
  }
  return { cases, violations }
}
