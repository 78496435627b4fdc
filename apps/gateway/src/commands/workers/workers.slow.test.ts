import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  childPids,
  isRunning,
  startGatewayProcess,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { GatewayProcess } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readGatewaySettings } from '../../settings/gateway-settings.ts'
import { exportAudit } from '../audit.ts'
import { initializeState } from '../initialize-state.ts'

const PATIENT = { timeout: 90_000 }
const REQUESTS = 20

const by = await testIssuer('agency')
const caller = testClient('caller', ['agency'])
const watcher = testClient('watcher', [], { metrics: true })
let home: string
let gateway: GatewayProcess | undefined

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'chancery-workers-'))
})
afterEach(async () => {
  await gateway?.kill()
  await rm(home, { recursive: true, force: true })
})

const verify = async (certificate: object): Promise<unknown> => {
  const response = await gateway?.request('POST', '/verify', { token: caller.token, body: { certificate } })
  return response?.body['trusted']
}

/** Decisions of all workers. */
const decisions = async (): Promise<number> => {
  const { text } = (await gateway?.request('GET', '/metrics', { token: watcher.token })) ?? { text: '' }
  return Number(/^gateway_trust_decisions_total\{result="trusted"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

/** Asks one worker, over the connection of the agent. */
const askReady = (agent: Agent): Promise<{ readonly status: number; readonly body: JsonObject }> =>
  new Promise((resolve, reject) => {
    get(`${gateway?.url ?? ''}/ready`, { agent }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as JsonObject }))
    }).on('error', reject)
  })

it('two workers serve, one goes on when the other is killed, and SIGTERM ends all', async () => {
  const env = {
    GATEWAY_WORKERS: '2',
    GATEWAY_POLICY_FILE: join(home, 'policy.json'),
    GATEWAY_STATE_FILE: join(home, 'gateway.state'),
    GATEWAY_DRAIN_SECONDS: '0',
    GATEWAY_AUTH_FAILURES_PER_MINUTE: '1000',
    GATEWAY_LOG_LEVEL: 'error',
  }
  const list = await testList(by, systemClock.now(), { entries: [{ certificate_id: 'cert-revoked' }] })
  const policy = testPolicy({ agency: testNetwork(by, list) }, [caller, watcher])
  await writeFile(env.GATEWAY_POLICY_FILE, writeJson(policy), { mode: 0o600 })
  const settings = requireValues(readGatewaySettings({ flags: {}, env }))
  await initializeState(settings, { clock: systemClock, ids: systemIds })
  gateway = await startGatewayProcess(env)
  const { pid = 0 } = gateway ?? {}
  await expect.poll(() => childPids(pid).length, PATIENT).toBe(2)
  const workers = childPids(pid)

  const [good, revoked] = await Promise.all(
    ['cert-good', 'cert-revoked'].map((cert_id) => testCertificate(by, systemClock.now(), { cert_id })),
  )
  for (let request = 0; request < REQUESTS; request += 1) {
    expect(await verify(good ?? {})).toBe(true)
    expect(await verify(revoked ?? {})).toBe(false)
  }
  for (let scrape = 0; scrape < 4; scrape += 1) expect(await decisions()).toBe(REQUESTS)

  const [first = 0, second = 0] = workers
  process.kill(first, 'SIGKILL')
  await expect.poll(() => isRunning(first), PATIENT).toBe(false)
  await expect.poll(() => verify(good ?? {}).catch(() => undefined), PATIENT).toBe(true)
  expect(await verify(revoked ?? {})).toBe(false)
  expect(isRunning(second)).toBe(true)
  await expect.poll(() => childPids(pid).filter((worker) => worker !== first).length, PATIENT).toBe(2)
  expect(await decisions()).toBeGreaterThan(REQUESTS)

  // A worker whose supervisor does not respond is not ready, and is again when it responds.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  expect(await askReady(agent)).toEqual({ status: 200, body: { status: 'ready' } })
  process.kill(pid, 'SIGSTOP')
  try {
    await expect
      .poll(() => askReady(agent), PATIENT)
      .toMatchObject({
        status: 503,
        body: { reason: 'not_ready', details: { checks: { supervisor: false, revocation: true } } },
      })
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await expect.poll(async () => (await askReady(agent)).status, PATIENT).toBe(200)
  agent.destroy()

  // Both workers refuse some of them: the limit of 20 events an address, and one sum, hold for both together.
  const wrong = 'wrong-'.repeat(8)
  const refused = await Promise.all(
    Array.from({ length: 50 }, async () => gateway?.request('GET', '/v1/networks', { token: wrong })),
  )
  expect(refused.map((response) => response?.status)).toEqual(refused.map(() => 401))

  const all = childPids(pid)
  await gateway?.stop()
  expect(await gateway?.exited).toBe(0)
  expect(all.filter(isRunning)).toEqual([])
  const events: JsonObject[] = []
  await exportAudit(settings, async (lines) => {
    for (const line of lines.split('\n')) if (line !== '') events.push(JSON.parse(line) as JsonObject)
  })
  const ids = refused.map((response) => response?.headers['x-request-id'])
  expect(events.filter(({ request_id }) => ids.includes(String(request_id)))).toHaveLength(2 * 20)
  expect(events.filter(({ event }) => event === 'refused_requests')).toMatchObject([{ status: 401, count: 30 }])
}, 120_000)
