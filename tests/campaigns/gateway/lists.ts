import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, seconds } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { startTestGateway, testCertificate, testClient, testIssuer, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestClient, TestGateway, TestIssuer } from '@chancery/testkit'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { type Behaviour, BEHAVIOURS, STORED_SEQUENCE, validList } from './malicious-lists.ts'

export const summary =
  'malicious list servers: every behaviour against a separate network of a gateway; nothing is wrongly accepted'
/** Rounds; each has every behaviour once. */
export const defaultCount = 3

/** The gateway stops waiting for a silent server after 10 s, two at a time. All other behaviours need no wait. */
const ROUND_SECONDS = 120
const ROUNDS_AT_ONCE = 3

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const violations: string[] = []
  for (let first = 0; first < count; first += ROUNDS_AT_ONCE) {
    const rounds = Array.from({ length: Math.min(ROUNDS_AT_ONCE, count - first) }, (_, n) => first + n)
    const found = await Promise.all(rounds.map((round) => runRound(round, seed)))
    violations.push(...found.flat())
    log(`${first + rounds.length} rounds of ${BEHAVIOURS.length} behaviours, ${violations.length} violations`)
  }
  return conclude(log, count * BEHAVIOURS.length, violations)
}

/** One gateway with a network for each behaviour, so that a slow server could also delay the others. */
async function runRound(round: number, seed: number): Promise<string[]> {
  const issuers = await Promise.all(BEHAVIOURS.map((_behaviour, at) => testIssuer(`network-${at}`)))
  const server = await openServer(issuers, seed + round)
  const caller = testClient(
    'caller',
    issuers.map(({ network }) => network),
  )
  const policy = testPolicy(await networksOf(issuers, server), [caller])
  // Every other round has durable state, which must not contain a refused list either.
  const gateway = await startTestGateway({ policy, ...(round % 2 === 0 ? { state: 'new' as const } : {}) })
  try {
    await untilTried(gateway, caller)
    const found: string[] = []
    for (const [at, behaviour] of BEHAVIOURS.entries()) {
      const by = issuers[at]
      if (by !== undefined) found.push(...(await check(behaviour, by, gateway, caller)))
    }
    return found
  } finally {
    await gateway.stop()
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
}

async function openServer(issuers: readonly TestIssuer[], seed: number): Promise<Server> {
  const random = seededRandom(seed)
  const server = createServer((request, response) => {
    const at = Number(/^\/crl\/(\d+)$/.exec(request.url ?? '')?.[1] ?? BEHAVIOURS.length - 1)
    const [by, behaviour] = [issuers[at], BEHAVIOURS[at]]
    if (by === undefined || behaviour === undefined) return void response.writeHead(404).end()
    void validList(by).then((newer) => behaviour.answer(response, { by, newer, random }))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return server
}

async function networksOf(issuers: readonly TestIssuer[], server: Server): Promise<JsonObject> {
  const { port } = server.address() as AddressInfo
  const networks: Record<string, JsonObject> = {}
  for (const [at, by] of issuers.entries()) {
    const facts = { sequence: STORED_SEQUENCE, issuedAgo: seconds(3600), entries: [{ certificate_id: 'held' }] }
    const more = { crl_url: `http://127.0.0.1:${port}/crl/${at}`, allow_http: true, refresh_seconds: 3600 }
    networks[by.network] = testNetwork(by, await validList(by, facts), more)
  }
  return networks
}

interface Shown {
  readonly name: string
  readonly suspect: boolean
  readonly revocation: { readonly sequence: number }
  readonly last_refresh: { readonly outcome: string } | null
}

async function shown(gateway: TestGateway, { token }: TestClient): Promise<readonly Shown[]> {
  const { body } = await gateway.request('GET', '/v1/networks', { token })
  return body['networks'] as unknown as Shown[]
}

async function untilTried(gateway: TestGateway, caller: TestClient): Promise<void> {
  const end = performance.now() + ROUND_SECONDS * 1000
  for (;;) {
    const networks = await shown(gateway, caller)
    if (networks.every(({ last_refresh }) => last_refresh !== null)) return
    if (performance.now() > end) throw new Error('not every list was tried in time')
    await pause(50)
  }
}

/** Checks that the current list stays in force unchanged until the valid server sends a newer one. */
async function check(
  { name, outcome }: Behaviour,
  by: TestIssuer,
  gateway: TestGateway,
  caller: TestClient,
): Promise<string[]> {
  const found: string[] = []
  const network = (await shown(gateway, caller)).find((each) => each.name === by.network)
  const isHonest = outcome === 'installed'
  const sequence = network?.revocation.sequence
  const isAccepted = sequence !== STORED_SEQUENCE
  if (isAccepted !== isHonest) found.push(`${name}: list ${sequence} is in force`)
  if (network?.last_refresh?.outcome !== outcome) found.push(`${name}: reported as ${network?.last_refresh?.outcome}`)
  if (network?.suspect !== (outcome === 'equivocation')) found.push(`${name}: suspect is ${network?.suspect}`)
  // The valid list leaves out `held`, which must stay refused.
  if (await isTrusted('held', by, gateway, caller)) found.push(`${name}: a revoked certificate is trusted`)
  if ((await isTrusted('fresh', by, gateway, caller)) === isHonest) found.push(`${name}: another list is in force`)
  if (!(await isTrusted('other', by, gateway, caller))) found.push(`${name}: a good certificate is refused`)
  return found
}

async function isTrusted(
  cert_id: string,
  by: TestIssuer,
  gateway: TestGateway,
  { token }: TestClient,
): Promise<boolean> {
  const certificate = await testCertificate(by, systemClock.now(), { cert_id })
  const { body } = await gateway.request('POST', '/verify', { token, body: { certificate } })
  return body['trusted'] === true
}
