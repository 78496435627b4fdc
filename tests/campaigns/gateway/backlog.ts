import { Agent, request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { canonicalJson, type JsonObject, sha256Hex } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { startTestGateway, TestCa, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary =
  'a backlog of audit events is delivered in order, unchanged and whole after the collector returns'
/** Events. */
export const defaultCount = 50_000

const CALLERS = 16
/** One of this many responses of the collector is lost, so the events are sent again. */
const LOST_ANSWER = 15
/** The longest delay between two attempts, and time to deliver. */
const WAIT_SECONDS = 600
const caller = testClient('caller', ['agency'], { requests_per_minute: 1_000_000 })

interface Delivered {
  readonly id: string
  readonly event: JsonObject & { readonly sequence: number; readonly hash: string }
}

/**
 * A collector that is down at first. Then it accepts events, sometimes only a part of a body, and sometimes its
 * response is lost.
 */
class Collector {
  isUp = false
  /** By id, in the order of first arrival. */
  readonly seen = new Map<string, string>()
  readonly sequences: number[] = []
  readonly problems: string[] = []
  readonly #random: Random
  #previous: string | null = null
  #deliveries = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** Returns the ids to acknowledge; undefined when the response is to be lost. */
  take(events: readonly Delivered[]): readonly string[] | undefined {
    const isCut = this.#random.chance(10)
    const taken = isCut ? events.slice(0, 1 + this.#random.below(events.length)) : events
    for (const each of taken) this.#note(each)
    this.#deliveries += 1
    return this.#deliveries % LOST_ANSWER === 0 ? undefined : taken.map(({ id }) => id)
  }

  #note({ id, event }: Delivered): void {
    const text = JSON.stringify(event)
    const known = this.seen.get(id)
    if (known !== undefined) {
      if (known !== text) this.problems.push(`${id} changed between deliveries`)
      return
    }
    const { hash, ...rest } = event
    if (sha256Hex(canonicalJson(rest)) !== hash) this.problems.push(`${id} does not have its hash`)
    if (event['prev_hash'] !== this.#previous) this.problems.push(`${id} does not follow the event before it`)
    this.#previous = hash
    this.seen.set(id, text)
    this.sequences.push(event.sequence)
  }
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const collector = new Collector(seededRandom(seed))
  const setup = await openSetup(collector)
  try {
    const answered = await callOften(setup.gateway, Math.ceil(count / 2))
    const { state } = setup.gateway.gateway.core
    const pending = (await state?.measure())?.pending ?? 0
    log(`${answered.size} answered requests, ${pending} events wait`)
    collector.isUp = true
    const returnedAt = performance.now()
    while (((await state?.measure())?.pending ?? 0) > 0) {
      if (performance.now() - returnedAt > WAIT_SECONDS * 1000) break
      await pause(200)
    }
    log(`${collector.seen.size} delivered ${Math.round((performance.now() - returnedAt) / 1000)} s after the return`)
    const violations = [...collector.problems, ...check(collector, answered, pending)]
    return conclude(log, pending, violations)
  } finally {
    await setup.close()
  }
}

function check({ seen, sequences }: Collector, answered: ReadonlySet<string>, pending: number): string[] {
  const found: string[] = []
  if (seen.size < pending) found.push(`${pending - seen.size} of ${pending} events are lost`)
  const disordered = sequences.findIndex((sequence, at) => sequence !== at + 1)
  if (disordered >= 0) found.push(`event ${sequences[disordered]} came as number ${disordered + 1}`)
  for (const id of answered) {
    for (const phase of ['started', 'completed']) if (!seen.has(`${id}:${phase}`)) found.push(`${id}:${phase} is lost`)
  }
  return found
}

/** Request ids of all successful responses. */
async function callOften({ url }: TestGateway, count: number): Promise<ReadonlySet<string>> {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS })
  const answered = new Set<string>()
  let left = count
  const callOne = (): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${caller.token}` }
      request(`${url}/v1/networks`, { agent, headers }, (answer) => {
        answer.resume()
        answer.once('end', () =>
          resolve(answer.statusCode === 200 ? String(answer.headers['x-request-id']) : undefined),
        )
      })
        .once('error', reject)
        .end()
    })
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (left > 0) {
        left -= 1
        const id = await callOne()
        if (id !== undefined) answered.add(id)
      }
    }),
  )
  agent.destroy()
  return answered
}

interface BacklogSetup {
  readonly gateway: TestGateway
  close(): Promise<void>
}

async function openSetup(collector: Collector): Promise<BacklogSetup> {
  const ca = new TestCa()
  const { cert, key } = ca.issue('collector')
  const server = createServer({ cert, key }, (incoming, response) => {
    let text = ''
    incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    incoming.on('end', () => {
      if (!collector.isUp) return void response.writeHead(503).end()
      const ids = collector.take((JSON.parse(text) as { events: Delivered[] }).events)
      if (ids === undefined) response.destroy()
      else response.writeHead(200).end(JSON.stringify({ acknowledged_ids: ids }))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const by = await testIssuer('agency')
  const gateway = await startTestGateway({
    policy: testPolicy({ agency: testNetwork(by, await testList(by, systemClock.now())) }, [caller]),
    state: 'new',
    files: { 'roots.pem': ca.cert },
    settings: {
      GATEWAY_AUDIT_URL: `https://127.0.0.1:${(server.address() as AddressInfo).port}/audit`,
      GATEWAY_CA_FILE: '{home}/roots.pem',
    },
  })
  return {
    gateway,
    async close() {
      await gateway.stop()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
      ca.remove()
    },
  }
}
