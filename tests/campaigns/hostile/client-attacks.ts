import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DAY, readGenesisBlock, readJson, writeJson, asJson } from '@chancery/protocol'
import type { GenesisBlock, RevocationList } from '@chancery/protocol'
import { FollowedParty, MemoryNodeStore, RelyingParty, createClient } from '@chancery/sdk'
import { honoNodeProof } from '@chancery/sdk/hono'
import { systemClock } from '@chancery/service-kit'
import { type TestIssuer, createTestNetwork, ownKeysOf, testCertificate, testList } from '@chancery/testkit'
import { Hono } from 'hono'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { prove, provingNode } from './check-attacks.ts'
import { exchange } from './raw-requests.ts'
import { AUDIENCE } from './setup.ts'

/** Programs that use the client library: a server, and a party that follows an authority. */
export interface ClientStage {
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
  const app = new Hono().use(honoNodeProof({ audience: AUDIENCE, trust })).all('/*', (c) => c.text(REACHED))
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
    const send = async (sent: string): Promise<{ status: number; text: string }> => {
      const proof = Object.entries(await prove(node, method, path)).map(([name, value]) => `${name}: ${value}\r\n`)
      const head = `${method} ${sent} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${proof.join('')}\r\n`
      return exchange({ url, from }, head, 5000)
    }
    const good = await send(path)
    const alike = random.pick(alikeTargets(path))
    const answer = await send(alike)
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
  const client = createClient({ url: 'http://127.0.0.1:9', retry: false, fetch: serve })
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
