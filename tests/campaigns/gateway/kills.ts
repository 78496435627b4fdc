import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createPlain } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { commands, initializeState, readGatewaySettings } from '@chancery/gateway'
import { seconds, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  startGatewayProcess,
  TestCa,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { GatewayProcess } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'

/** Points of apps/gateway/src/faults/fault-points.ts. */
const POINTS = [
  'checkpoint-begun',
  'checkpoint-written',
  'checkpoint-committed',
  'checkpoint-published',
  'event-begun',
  'event-written',
  'event-committed',
  'event-answered',
  'acknowledged',
  'acknowledgement-committed',
] as const

const LOAD_SECONDS = 20
const MAX_HITS_BEFORE = 6

const by = await testIssuer('agency')
const caller = testClient('caller', ['agency'])

/** Results that callers and the collector received. They must still be true after a restart. */
class Recorder {
  /** Highest list sequence in a response. */
  sequence = 1
  /** Certificates that were refused in a response. */
  readonly denied = new Set<string>()
  /** Requests with a response. */
  readonly answered = new Set<string>()
  /** Events that the collector acknowledged, by id. */
  readonly delivered = new Map<string, string>()
}

/** Each lane has its own gateway, because most of the time a kill waits for a list or a delivery. */
const LANES = 3

/** kill -9 of a gateway at named points of checkpoint and outbox: no revocation and no event is lost. */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const lanes = await Promise.all(
    Array.from({ length: Math.min(LANES, count) }, (_, lane) => runLane(lane, { count, seed: seed + lane, log })),
  )
  const violations = lanes.flatMap((lane) => lane.violations)
  for (const violation of violations.slice(0, 20)) log(violation)
  const total = (pick: (lane: Lane) => number): number => lanes.reduce((sum, lane) => sum + pick(lane), 0)
  log(
    `${total(({ killed }) => killed)} of ${count} ended by kill -9; ${total(({ seen }) => seen.answered.size)} answers, ` +
      `${total(({ seen }) => seen.denied.size)} denials and ${total(({ seen }) => seen.delivered.size)} deliveries still valid`,
  )
  return { cases: count, violations: violations.length }
}

interface Lane {
  readonly seen: Recorder
  readonly killed: number
  readonly violations: readonly string[]
}

/** Every third kill, so that each lane reaches every point. */
async function runLane(lane: number, { count, seed, log }: CampaignOptions): Promise<Lane> {
  const random = seededRandom(seed)
  const seen = new Recorder()
  const setup = await openSetup(seen)
  const violations: string[] = []
  let killed = 0
  try {
    for (let kill = lane; kill < count; kill += LANES) {
      const point = POINTS[kill % POINTS.length] ?? POINTS[0]
      setup.offered += 1
      const faults = {
        CHANCERY_FAULT_POINT: point,
        CHANCERY_FAULT_AFTER: String(random.below(point.startsWith('event') ? MAX_HITS_BEFORE : 1)),
      }
      const ending = await strike(await startGatewayProcess({ ...setup.env, ...faults }), seen)
      if (ending === 'SIGKILL') killed += 1
      violations.push(...(await checkState(setup.env, seen)).map((sentence) => `${point}: ${sentence}`))
      violations.push(...(await checkService(setup.env, seen)).map((sentence) => `${point}: ${sentence}`))
      if (kill % 10 === 9) log(`kill ${kill + 1} of ${count} at ${point}; ${violations.length} violations in its lane`)
    }
  } finally {
    await setup.close()
  }
  return { seen, killed, violations }
}

/** Sends requests until the process ends or the time is over. */
async function strike(gateway: GatewayProcess | undefined, seen: Recorder): Promise<string | number> {
  if (gateway === undefined) return 'SIGKILL'
  const end = performance.now() + LOAD_SECONDS * 1000
  let ending: string | number | undefined
  void gateway.exited.then((code) => (ending = code))
  while (ending === undefined && performance.now() < end) {
    await ask(gateway, seen).catch(() => undefined)
    await pause(10)
  }
  if (ending === undefined) await gateway.stop()
  return gateway.exited
}

async function ask(gateway: GatewayProcess, seen: Recorder): Promise<void> {
  const shown = await gateway.request('GET', '/v1/networks', { token: caller.token })
  if (shown.status === 200) {
    seen.answered.add(String(shown.headers['x-request-id']))
    const [network] = shown.body['networks'] as unknown as { revocation: { sequence: number } }[]
    seen.sequence = Math.max(seen.sequence, network?.revocation.sequence ?? 0)
  }
  const cert_id = `cert-${seen.sequence}`
  const certificate = await testCertificate(by, systemClock.now(), { cert_id })
  const response = await gateway.request('POST', '/verify', { token: caller.token, body: { certificate } })
  if (response.status !== 200) return
  seen.answered.add(String(response.headers['x-request-id']))
  if (response.body['trusted'] === false) seen.denied.add(cert_id)
}

/** Checks the files alone: complete, not older than the results, and both events for every request with a response. */
async function checkState(env: Readonly<Record<string, string>>, seen: Recorder): Promise<string[]> {
  const settings = requireValues(readGatewaySettings({ flags: {}, env }))
  const found: string[] = []
  let exported = ''
  try {
    const verified = await commands.state.verify(settings, {
      file: env['GATEWAY_STATE_FILE'] ?? '',
      floorsFile: undefined,
    })
    if (verified.exitCode !== 0) found.push(verified.text)
    const { floors } = (await commands.state.floors(settings)).data as unknown as { floors: { sequence: number }[] }
    if ((floors[0]?.sequence ?? 0) < seen.sequence)
      found.push(`list ${floors[0]?.sequence} after ${seen.sequence} was shown`)
    await commands.audit.export(settings, async (lines) => {
      exported += lines
    })
  } catch (error) {
    // The next start rolls back an unfinished write, so the check runs again after it.
    if (commands.expectedLines(error) === undefined) throw error
    return []
  }
  const events = exported
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { request_id?: string; phase?: string })
  const stored = new Set(events.map(({ request_id, phase }) => `${request_id}:${phase}`))
  for (const id of seen.answered) {
    for (const phase of ['started', 'completed'])
      if (!stored.has(`${id}:${phase}`)) found.push(`${id}:${phase} is lost`)
  }
  return found
}

/** Starts again on the remaining files: the gateway serves, and refuses every certificate that it refused before. */
async function checkService(env: Readonly<Record<string, string>>, seen: Recorder): Promise<string[]> {
  const gateway = await startGatewayProcess(env)
  if (gateway === undefined) return ['the gateway does not start any more']
  const found: string[] = []
  const certificates = await Promise.all(
    [...seen.denied].map((cert_id) => testCertificate(by, systemClock.now(), { cert_id })),
  )
  for (let at = 0; at < certificates.length; at += 100) {
    const body = { certificates: certificates.slice(at, at + 100) }
    const { body: answer } = await gateway.request('POST', '/verify/batch', { token: caller.token, body })
    const results = answer['results'] as unknown as { trusted: boolean }[]
    for (const [index, { trusted }] of results.entries()) {
      if (trusted) found.push(`${certificates[at + index]?.cert_id} is trusted again`)
    }
  }
  await gateway.stop()
  return found
}

interface CampaignSetup {
  readonly env: Readonly<Record<string, string>>
  /** Sequence of the current list of the server. Each list names one certificate and leaves out all earlier ones. */
  offered: number
  close(): Promise<void>
}

async function openSetup(seen: Recorder): Promise<CampaignSetup> {
  const home = await mkdtemp(join(tmpdir(), 'chancery-gateway-kills-'))
  const ca = new TestCa()
  const { cert, key } = ca.issue('collector')
  const lists = createPlain((_request, response) => {
    void listNumber(setup.offered).then((text) => response.end(text))
  })
  const collector = createSecure({ cert, key }, (request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      const { events } = JSON.parse(text) as { events: { id: string; event: { hash: string } }[] }
      for (const { id, event } of events) {
        const known = seen.delivered.get(id)
        if (known !== undefined && known !== event.hash) throw new Error(`event ${id} changed between deliveries`)
        seen.delivered.set(id, event.hash)
      }
      response.end(JSON.stringify({ acknowledged_ids: events.map(({ id }) => id) }))
    })
  })
  const [listPort, collectorPort] = [await listen(lists), await listen(collector)]
  const network = testNetwork(by, JSON.parse(await listNumber(1)) as never, {
    crl_url: `http://127.0.0.1:${listPort}/crl`,
    allow_http: true,
    refresh_seconds: 10,
  })
  const env = {
    GATEWAY_POLICY_FILE: join(home, 'policy.json'),
    GATEWAY_STATE_FILE: join(home, 'gateway.state'),
    GATEWAY_AUDIT_URL: `https://127.0.0.1:${collectorPort}/audit`,
    GATEWAY_CA_FILE: join(home, 'roots.pem'),
  }
  await writeFile(env.GATEWAY_POLICY_FILE, writeJson(testPolicy({ agency: network }, [caller])), { mode: 0o600 })
  await writeFile(env.GATEWAY_CA_FILE, ca.cert)
  await initializeState(requireValues(readGatewaySettings({ flags: {}, env })), { clock: systemClock, ids: systemIds })
  const setup: CampaignSetup = {
    env,
    offered: 1,
    async close() {
      for (const server of [lists, collector]) {
        server.closeAllConnections()
        await new Promise((done) => server.close(done))
      }
      ca.remove()
      await rm(home, { recursive: true, force: true })
    },
  }
  return setup
}

/** Issue times within the last hours, in order. */
async function listNumber(sequence: number): Promise<string> {
  const issuedAgo = seconds(40_000 - sequence * 10)
  return writeJson(
    await testList(by, systemClock.now(), { sequence, issuedAgo, entries: [{ certificate_id: `cert-${sequence}` }] }),
  )
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
}
