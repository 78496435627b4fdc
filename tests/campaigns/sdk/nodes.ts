import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type GenesisBlock, readGenesisBlock, readJson } from '@chancery/protocol'
import { MemoryNodeStore, type NetworkNode, type NodeEvent } from '@chancery/sdk'
import { openNode } from '@chancery/sdk/internal'
import { createAuthorityClient, type Client } from '@chancery/sdk/authority'
import { createTestDatabase, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, TestNetwork } from '@chancery/testkit'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'

export const summary = 'node list of the library in one process on a quick clock: all alive, all renewed, memory flat'
/** Number of nodes. Many nodes run for ten minutes, few for one. */
export const defaultCount = 1000

const LARGE = 200
const PACE_SECONDS = 120
/** Certificates are valid for an hour, so each node renews after 40 to 46 minutes. */
const VALIDITY_HOURS = 1
const SIMULATED_MINUTES = 50
/** protocol/core 12: how long a heartbeat counts. */
const ACTIVE_SECONDS = 300
const JOINING_AT_ONCE = 16

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  // A call that takes a second takes `rate` seconds of fast time. With a higher rate, signatures would expire.
  const rate = count >= LARGE ? 5 : 60
  const clock = new QuickClock(rate)
  const network = await createTestNetwork('FLEET-NET')
  const database = await createTestDatabase('sqlite')
  const na = await startAuthorityProcess({
    network,
    settings: {
      ...database.settings,
      NA_CLOCK_CHECK: 'off',
      NA_HEARTBEAT_SECONDS: String(PACE_SECONDS),
      CHANCERY_CLOCK_START: String(clock.startMs),
      CHANCERY_CLOCK_RATE: String(rate),
    },
    execArgv: ['--import', new URL('../lib/quick-clock.ts', import.meta.url).href],
  })
  const fleet = new Fleet(clock, seededRandom(seed))
  try {
    await fleet.join(na, network, count)
    log(`${count} nodes joined after ${clock.minutes().toFixed(1)} min of quick time`)
    const violations = [...(await fleet.watch(na, network, log)), ...fleet.check()]
    log(fleet.describe())
    return conclude(log, count, violations)
  } finally {
    await fleet.stop()
    await na.stop()
    await database.drop()
    await network.remove()
  }
}

/** One wall clock for nodes and authority. */
class QuickClock {
  readonly startMs = Date.now()
  readonly rate: number

  constructor(rate: number) {
    this.rate = rate
  }

  now = (): bigint => BigInt(Math.floor(this.startMs + (Date.now() - this.startMs) * this.rate)) * 1000n

  sleep = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
    await pause(ms / this.rate, undefined, signal === undefined ? {} : { signal })
  }

  minutes(): number {
    return ((Date.now() - this.startMs) * this.rate) / 60_000
  }
}

/** Results of one node. */
interface Diary {
  readonly node: NetworkNode
  beats: number
  renewals: number
  failures: string[]
  lastBeat: bigint
  /** Maximum delay of a heartbeat, in seconds of fast time. */
  latest: number
  ended: Error | undefined
}

class Fleet {
  readonly #clock: QuickClock
  readonly #random: { next(): number }
  readonly #diaries: Diary[] = []
  readonly #heap: number[] = []
  #isStopping = false

  constructor(clock: QuickClock, random: { next(): number }) {
    this.#clock = clock
    this.#random = random
  }

  async join(na: AuthorityProcess, network: TestNetwork, count: number): Promise<void> {
    const genesis = readGenesisBlock(readJson(await readFile(network.settings['GENESIS_FILE'] ?? '', 'utf8')))
    const operator = this.#operator(na, network)
    let left = count
    const joinOne = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        await this.#joinOne(na.url, genesis, operator)
      }
    }
    await Promise.all(Array.from({ length: JOINING_AT_ONCE }, joinOne))
  }

  async #joinOne(url: string, genesis: GenesisBlock, operator: Client): Promise<void> {
    const { token_id } = await operator.enrollment.invite({ max_validity_hours: VALIDITY_HOURS })
    const { now, sleep } = this.#clock
    const random = (): number => this.#random.next() / 2 ** 32
    const node = await openNode({
      url,
      genesis,
      store: new MemoryNodeStore(),
      invite: token_id,
      clock: now,
      sleep,
      random,
    })
    const diary: Diary = { node, beats: 0, renewals: 0, failures: [], lastBeat: 0n, latest: 0, ended: undefined }
    this.#diaries.push(diary)
    let due = 0n
    const beat = (nextSeconds: number): void => {
      const at = now()
      if (due > 0n) diary.latest = Math.max(diary.latest, Number(at - due) / 1_000_000)
      diary.beats += 1
      diary.lastBeat = at
      due = at + BigInt(Math.ceil(nextSeconds * 1_000_000))
    }
    const onEvent = (event: NodeEvent): void => {
      if (event.type === 'heartbeat') beat(event.nextSeconds)
      if (event.type === 'renewed') diary.renewals += 1
      if (event.type === 'failed' && diary.failures.length < 5)
        diary.failures.push(`${event.action}: ${event.error.message}`)
    }
    void node.run({ onEvent }).then((end) => {
      if (!this.#isStopping) diary.ended = end.reason === 'stopped' ? new Error('stopped by itself') : end.error
    })
  }

  /** Checks ten times that the authority counts every node as active. */
  async watch(na: AuthorityProcess, network: TestNetwork, log: (line: string) => void): Promise<string[]> {
    const reader = this.#operator(na, network)
    const violations: string[] = []
    const until = this.#clock.minutes() + SIMULATED_MINUTES
    for (let look = 1; look <= 10; look += 1) {
      const at = until - SIMULATED_MINUTES + (SIMULATED_MINUTES * look) / 10
      while (this.#clock.minutes() < at) await pause(50)
      const { nodes } = await reader.enrollment.roster()
      // After a renewal the old certificate may still be in its grace period, so nodes are counted by key.
      const keys = new Set(Object.values(nodes).map(({ node_public_key }) => node_public_key)).size
      if (keys !== this.#diaries.length) violations.push(`look ${look}: ${keys} of ${this.#diaries.length} are active`)
      this.#heap.push(usedMegabytes())
      log(`${this.#clock.minutes().toFixed(0)} min: ${keys} active, heap ${this.#heap.at(-1)?.toFixed(1)} MB`)
    }
    return violations
  }

  check(): string[] {
    const violations: string[] = []
    for (const [index, { renewals, failures, latest, ended }] of this.#diaries.entries()) {
      if (ended !== undefined) violations.push(`node ${index} ended: ${ended.message}`)
      if (renewals < 1) violations.push(`node ${index} renewed ${renewals} times`)
      if (failures.length > 0) violations.push(`node ${index} failed: ${failures.join(', ')}`)
      // With a longer delay the authority would have counted the node as inactive between two checks.
      if (latest > ACTIVE_SECONDS - PACE_SECONDS * 1.1)
        violations.push(`node ${index} beat ${latest.toFixed(0)} s late`)
    }
    // The first check still includes memory of the joins. From the second check on, memory must not grow.
    const [, second = 0, ...later] = this.#heap
    const last = later.at(-1) ?? second
    if (last > second * 1.1 + 2) violations.push(`the heap grew from ${second.toFixed(1)} to ${last.toFixed(1)} MB`)
    return violations
  }

  describe(): string {
    const sum = (of: (diary: Diary) => number): number => this.#diaries.reduce((all, diary) => all + of(diary), 0)
    const latest = Math.max(...this.#diaries.map((diary) => diary.latest))
    return `${sum(({ beats }) => beats)} heartbeats, ${sum(({ renewals }) => renewals)} renewals, latest heartbeat ${latest.toFixed(1)} s of quick time late`
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#diaries.map(({ node }) => node.stop()))
  }

  #operator(na: AuthorityProcess, network: TestNetwork): Client {
    const operator = { signer: network.operators.privileged, audience: network.authority.publicKey }
    return createAuthorityClient({ url: na.url, operator, clock: this.#clock.now, timeoutMs: 60_000 })
  }
}

function usedMegabytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed / 1024 / 1024
}
