import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { asJson, DAY, readGenesisBlock, readJson, writeJson } from '@chancery/protocol'
import type { GenesisBlock, RevocationList } from '@chancery/protocol'
import { MemoryNodeStore } from '@chancery/sdk'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { createAuthorizer } from '@chancery/sdk'
import { authenticate } from '@chancery/sdk/hono'
import { FollowedParty } from '@chancery/sdk/internal'
import { RelyingParty } from '@chancery/sdk/verify'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, ownKeysOf, send, testCertificate, type TestIssuer, testList } from '@chancery/testkit'
import { Hono } from 'hono'
import { text as textOf } from '../lib/rows.ts'
import { type Attack, type Outcome, outcomeOf } from './authority-attacks.ts'
import { prove, provingNode } from './check-attacks.ts'
import { exchange } from './raw-requests.ts'
import { AUDIENCE, type AuthoritySetup, type GatewaySetup } from './setup.ts'

/** Programs that use the client library: a server, and a party that follows an authority. */
interface ClientStage {
  readonly url: string
  readonly by: TestIssuer
  readonly genesis: GenesisBlock
  stop(): Promise<void>
}

/** Loaded by name: it is installed with the MCP packages, whose servers use it. */
const HONO_SERVER = '@hono/node-server'
const NOT_FOUND = { code: 'not_found', message: 'Not found.', details: {}, request_id: 'r' }
const REACHED = 'the handler ran'

export async function openClients(): Promise<ClientStage> {
  const network = await createTestNetwork('HOSTILE-CLIENTS', ownKeysOf('HOSTILE-CLIENTS'))
  const by = { network: network.name, keyId: network.authority.keyId, signer: network.authority }
  const genesis = readGenesisBlock(readJson(await readFile(network.settings['GENESIS_FILE'] ?? '', 'utf8')))
  await network.remove()
  const crl = await testList(by, systemClock.now(), { lasts: 2n * DAY })
  const trust = await RelyingParty.open({ network: by.network, anchors: { [by.keyId]: by.signer.publicKey }, crl })
  const authorizer = createAuthorizer({ audience: AUDIENCE, trust })
  const app = new Hono().use(authenticate(authorizer)).all('/*', (c) => c.text(REACHED))
  const { serve } = (await import(HONO_SERVER)) as { serve: (options: object) => Server }
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  if (!server.listening) await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    by,
    genesis,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Other texts that a server may normalise to the signed target. */
function alikeTargets(path: string): readonly [string, ...string[]] {
  const [first = '', ...rest] = path.slice(1)
  const encoded = `/%${first.charCodeAt(0).toString(16)}${rest.join('')}`
  return [
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `/x/.%2E${path}`,
    `/.${path}`,
    `/%2e${path}`,
    `/${path}`,
    `${path}#x`,
    `${path}/.`,
    `${path}/x/..`,
    `${path}?`,
    `http://h${path}`,
    encoded,
    path.replaceAll('/', '\\'),
  ]
}

const otherTargets: Attack<ClientStage> = {
  name: 'targets that a server normalises',
  async run({ url, by }, from, random) {
    const node = await provingNode(by, random)
    const path = random.pick(['/jobs/7', '/a', '/jobs', `/files/${randomBytes(4).toString('hex')}/read`])
    const method = random.pick(['GET', 'DELETE'])
    const sendOnce = async (sent: string): Promise<{ status: number; text: string }> => {
      const proof = Object.entries(await prove(node, method, path)).map(([name, value]) => `${name}: ${value}\r\n`)
      const head = `${method} ${sent} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${proof.join('')}\r\n`
      return exchange({ url, from }, head, 5000)
    }
    const good = await sendOnce(path)
    const alike = random.pick(alikeTargets(path))
    const answer = await sendOnce(alike)
    const complaints = good.status === 200 ? [] : [`the signed target: ${good.status} ${good.text.slice(-200)}`]
    if (answer.status === 200) complaints.push(`a proof of ${path} passed for ${alike}`)
    return outcomeOf([good, answer], complaints)
  },
}

/** Starts a party with this memory, while its authority serves this list. Undefined when it refuses the list. */
async function follow(
  { genesis }: ClientStage,
  store: MemoryNodeStore,
  list: RevocationList,
): Promise<FollowedParty | undefined> {
  const serve = async (url: string | URL | Request): Promise<Response> =>
    new URL(url instanceof Request ? url.url : url).pathname === '/crl'
      ? new Response(writeJson(asJson(list)), { headers: { 'content-type': 'application/json' } })
      : Response.json({ error: NOT_FOUND }, { status: 404 })
  const client = createAuthorityClient({ url: 'http://127.0.0.1:9', retry: false, fetch: serve })
  try {
    return await FollowedParty.open({ client, genesis, store })
  } catch (error) {
    if (error instanceof Error && /older list|no list that one of its keys signed/.test(error.message)) return undefined
    throw error
  }
}

/** An authority that was set back, or a person who serves its old list, after a restart of the party. */
const olderLists: Attack<ClientStage> = {
  name: 'older lists after a restart',
  async run(stage, _from, random) {
    const { by } = stage
    const certificate = await testCertificate(by, systemClock.now())
    const entries = [{ certificate_id: certificate.cert_id }]
    const sign = (sequence: number, revoked: typeof entries): Promise<RevocationList> =>
      testList(by, systemClock.now(), { sequence, entries: revoked })
    const store = new MemoryNodeStore()
    const complaints: string[] = []
    let highest = 1 + random.below(1000)
    for (let start = 0; start < 1 + random.below(4); start += 1) {
      highest += random.below(3)
      const party = await follow(stage, store, await sign(highest, entries))
      if (party === undefined) complaints.push('the newest list was refused')
      else if ((await party.evaluate(certificate)).trusted) complaints.push('a revoked certificate is trusted')
    }
    // Older, or another one under the same number.
    const back = random.chance(30) ? highest : random.below(highest)
    const party = await follow(stage, store, await sign(back, []))
    if (party !== undefined) complaints.push(`list ${back} was taken after list ${highest}`)
    if ((await follow(stage, store, await sign(highest + 1, entries))) === undefined)
      complaints.push('a newer list was refused')
    return outcomeOf([], complaints)
  },
}

export const CLIENT_ATTACKS: readonly [Attack<ClientStage>, ...Attack<ClientStage>[]] = [otherTargets, olderLists]

/** Another caller gets a response within this time, during and after an attack. */
const SERVED_MS = 5000
/** The authority releases all resources of an attack within this time after its end. */
const RELEASED_MS = 8000
const MEMORY_MAX_KB = 1_500_000

/** No 5xx, whatever was sent. */
export function checkOutcome({ statuses, complaints }: Outcome): string[] {
  const failures = statuses.filter((status) => status === 500)
  return [...complaints, ...failures.map((status) => `answered with ${status}`)]
}

/** Other callers are served. */
export async function checkServed({ authority, node, certId }: AuthoritySetup, from: string): Promise<string[]> {
  const found: string[] = []
  const started = performance.now()
  const [beat, list] = await Promise.all([
    node.heartbeat(certId, {}, { from }).catch(() => undefined),
    authority.request('GET', '/crl', { from }).catch(() => undefined),
  ])
  if (beat?.status !== 200) found.push(`the heartbeat of another caller: ${beat?.status ?? 'no answer'}`)
  if (list?.status !== 200) found.push(`the list for another caller: ${list?.status ?? 'no answer'}`)
  const tookMs = performance.now() - started
  if (tookMs > SERVED_MS) found.push(`another caller waited ${Math.round(tookMs)} ms`)
  return found
}

export async function checkGatewayServed(setup: GatewaySetup, from: string): Promise<string[]> {
  const started = performance.now()
  const { gateway, client, certificate } = setup
  const options = { token: client.token, body: { certificate }, from }
  const answer = await gateway.request('POST', '/verify', options).catch(() => undefined)
  const isTrusted = answer?.status === 200 && answer.text.includes('"trusted":true')
  const tookMs = performance.now() - started
  if (!isTrusted)
    return [`the good caller of the gateway: ${answer?.status ?? 'no answer'} ${answer?.text.slice(0, 120)}`]
  return tookMs > SERVED_MS ? [`the good caller of the gateway waited ${Math.round(tookMs)} ms`] : []
}

const USAGE_GAUGES = [
  'chancery_http_requests_in_flight',
  'chancery_http_verifications_in_flight',
  'chancery_http_body_bytes',
] as const

/** No slot and no body memory is in use when no request is open. */
export async function checkReleased({ url }: AuthoritySetup): Promise<string[]> {
  const deadline = performance.now() + RELEASED_MS
  for (;;) {
    const { text: metrics } = await send(url, 'GET', '/metrics', { from: '127.9.9.9' })
    const gauges = USAGE_GAUGES.flatMap((name) => samplesOf(metrics, name))
    const used = gauges.filter(({ value }) => value !== 0)
    if (gauges.length < USAGE_GAUGES.length) return ['the metrics do not show used slots and memory']
    if (used.length === 0) return []
    if (performance.now() > deadline) return used.map(({ line }) => `still held: ${line}`)
    await pause(20)
  }
}

function samplesOf(text: string, name: string): readonly { readonly line: string; readonly value: number }[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(name))
    .map((line) => ({ line, value: Number(line.split(' ').at(-1)) }))
}

/**
 * Stored refusals of unauthenticated callers: separate entries, and one sum for each code (protocol/trust-operations
 * 6.14).
 */
const REJECTIONS_PER_MINUTE = 60 + 20

/** The number of rows that unauthenticated callers cause is limited by time, not by what they send. */
export async function checkStored(setup: AuthoritySetup): Promise<string[]> {
  const minutes = Math.ceil((Date.now() - setup.startedAt) / 60_000) + 1
  const found: string[] = []
  const lists = await countRows(setup, 'crl_versions')
  if (lists > minutes + setup.revocations + 3) found.push(`${lists} lists are stored after ${minutes} minutes`)
  const rejections =
    (await countRows(setup, "evidence_entries where entry_kind = 'rejection'")) +
    (await countRows(setup, 'evidence_rejections'))
  if (rejections > minutes * REJECTIONS_PER_MINUTE) found.push(`${rejections} rejections after ${minutes} minutes`)
  const memory = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${setup.authority.pid}/status`, 'latin1'))?.[1])
  if (memory > MEMORY_MAX_KB) found.push(`the authority uses ${memory} kB`)
  const errors = setup.authority.log.filter((line) => line.includes('"unexpected error"'))
  return [...found, ...errors.slice(0, 3)]
}

async function countRows({ rows }: AuthoritySetup, table: string): Promise<number> {
  const [row] = await rows.query(`select count(*) as count from ${table}`)
  return Number(textOf(row, 'count'))
}
