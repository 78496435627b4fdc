import { setTimeout as pause } from 'node:timers/promises'
import { HOUR, type JsonObject, seedSigner, signNodeProof, writeInstant, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestDatabase, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { seedCertificates, seededCertificateId, seededNodeSeed } from '../../tools/seed-certificates.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { KeepAliveClient, type KeptRequest, figures, percentile } from '../lib/latencies.ts'
import { newSigner, seedInvites } from '../lib/seed.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { type Rows, openRows } from '../lib/rows.ts'

const SMALL = 10_000
const BAR = 2
const SEED = 'mass'

interface Operation {
  readonly name: string
  readonly path: '/join' | '/heartbeat' | '/renew' | '/nodes'
  readonly status: number
  readonly calls: number
  readonly warmUp: number
  /** Waits between calls, so that no call uses the cached result of the last one. */
  readonly pauseMs: number
}

const OFTEN = { calls: 300, warmUp: 30, pauseMs: 0 }
const OPERATIONS: readonly Operation[] = [
  { name: 'join', path: '/join', status: 201, ...OFTEN },
  { name: 'heartbeat', path: '/heartbeat', status: 200, ...OFTEN },
  { name: 'renew', path: '/renew', status: 201, ...OFTEN },
  { name: 'nodes, asked often', path: '/nodes', status: 200, ...OFTEN },
  { name: 'nodes, asked now and then', path: '/nodes', status: 200, calls: 15, warmUp: 2, pauseMs: 3000 },
]

/**
 * Join, heartbeat, renew and the node count with many certificates stored, against 10,000.
 * Calls two authorities with two databases alternately. Other load on the machine slows both equally, so the ratio of
 * the medians shows the cost of the number of certificates.
 */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('MASS-NET')
  const random = seededRandom(seed)
  const sites: Site[] = []
  try {
    for (const size of [SMALL, count]) sites.push(await Site.open(network, size, random, log))
    let violations = 0
    for (const operation of OPERATIONS) violations += await compare(operation, sites, log)
    const calls = OPERATIONS.reduce((sum, operation) => sum + operation.calls, 0)
    return { cases: calls * sites.length, violations }
  } finally {
    for (const site of sites) await site.close()
    await network.remove()
  }
}

async function compare(operation: Operation, sites: readonly Site[], log: (line: string) => void): Promise<number> {
  const { name, warmUp } = operation
  const total = operation.calls + warmUp
  const requests: KeptRequest[][] = []
  for (const site of sites) requests.push(await site.prepare(operation.path, total))
  const measured = sites.map((): number[] => [])
  let refusals = 0
  for (let call = 0; call < total; call += 1) {
    await pause(operation.pauseMs)
    for (const [index, site] of sites.entries()) {
      const request = requests[index]?.[call]
      if (request === undefined) continue
      const answer = await site.caller.send(request)
      if (answer.status !== operation.status) {
        refusals += 1
        if (refusals === 1) log(`violation: ${name} answered ${answer.status} ${answer.text.slice(0, 200)}`)
      }
      if (call >= warmUp) measured[index]?.push(answer.milliseconds)
    }
  }
  const [small = [], large = []] = measured
  const ratio = (share: number): number => percentile(large, share) / percentile(small, share)
  for (const [index, site] of sites.entries()) log(`${name} at ${site.size}: ${figures(measured[index] ?? [])}`)
  const isOver = ratio(0.5) > BAR
  log(`${name}: ratio p50 ${ratio(0.5).toFixed(2)}, p99 ${ratio(0.99).toFixed(2)}${isOver ? ', violation' : ''}`)
  return refusals + (isOver ? 1 : 0)
}

/** An authority over a database of one size. */
class Site {
  readonly size: number
  readonly caller: KeepAliveClient
  readonly #process: AuthorityProcess
  readonly #database: TestDatabase
  readonly #rows: Rows
  readonly #random: Random

  private constructor(
    size: number,
    parts: { process: AuthorityProcess; database: TestDatabase; rows: Rows; random: Random },
  ) {
    this.size = size
    this.caller = new KeepAliveClient(parts.process.url)
    this.#process = parts.process
    this.#database = parts.database
    this.#rows = parts.rows
    this.#random = parts.random
  }

  static async open(network: TestNetwork, size: number, random: Random, log: (line: string) => void): Promise<Site> {
    const database = await createTestDatabase('postgres')
    const process = await startAuthorityProcess({ network, settings: database.settings })
    const started = performance.now()
    const now = systemClock.now()
    // Every node counts as active during the measurement.
    const facts = { count: size, seed: SEED, network: network.name, at: now - HOUR, heardAt: now + HOUR }
    await seedCertificates({ database: database.settings['DATABASE_URL'] ?? '', log, ...facts })
    const rows = await openRows(database)
    await rows.query('vacuum analyze')
    log(`${size} certificates seeded in ${((performance.now() - started) / 1000).toFixed(0)} s`)
    return new Site(size, { process, database, rows, random })
  }

  /** Signed before the measurement starts. */
  async prepare(path: Operation['path'], count: number): Promise<KeptRequest[]> {
    if (path === '/nodes') return Array.from({ length: count }, () => ({ method: 'GET', path }))
    const isJoin = path === '/join'
    const tokens = isJoin ? await seedInvites(this.#rows, this.#random, count) : []
    const requests: KeptRequest[] = []
    for (let call = 0; call < count; call += 1) {
      const index = this.#random.below(this.size)
      const signer = isJoin ? await newSigner(this.#random) : await seedSigner('node', seededNodeSeed(SEED, index))
      const own: JsonObject = isJoin
        ? { invite_token: tokens[call] ?? '' }
        : { cert_id: seededCertificateId(SEED, index) }
      const nonce = `m-${call}-${this.#random.next()}`
      const draft = { node_public_key: signer.publicKey, timestamp: writeInstant(systemClock.now()), nonce, ...own }
      requests.push({ method: 'POST', path, body: writeJson(await signNodeProof(draft, signer)) })
    }
    return requests
  }

  async close(): Promise<void> {
    this.caller.close()
    await this.#rows.close()
    await this.#process.stop()
    await this.#database.drop()
  }
}
