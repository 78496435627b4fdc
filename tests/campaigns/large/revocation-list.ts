import { setTimeout as pause } from 'node:timers/promises'
import { HOUR, type JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  createTestNetwork,
  startAuthorityProcess,
  startTemporaryPostgres,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { AuthorityProcess, TestNetwork } from '@chancery/testkit'
import { seedCertificates, seededCertificateId } from '../../tools/seed-certificates.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { KeepAliveClient, figures, percentile } from '../lib/latencies.ts'
import { LoopProbe, readGauge } from '../lib/loop-probe.ts'

const SEED = 'crl-large'
const BULK = 10_000
const BULK_SECONDS = 60
const PER_REQUEST = 1000
const REBUILDS = 30
const LOOP_MS = 50
/** Period of the gauge of the authority. */
const PERIOD_MS = 31_000

/** A revocation list of many entries: event loop while it is rebuilt, ETag and 304, bulk revocation. */
export async function run({ count, log }: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('LARGE-NET')
  // A separate server, because 15 MB lists and bulk writes would slow down other users of the shared one.
  const server = await startTemporaryPostgres()
  const settings = { DATABASE_URL: server.url }
  try {
    // Migrates and stops. The seeded entries go into the first list after the next start.
    await (await startAuthorityProcess({ network, settings })).stop()
    const at = systemClock.now() - HOUR
    const facts = { count: count + REBUILDS + 2 * BULK, revoked: count, seed: SEED, network: network.name, at }
    await seedCertificates({ database: server.url, log, ...facts })
    const process = await startAuthorityProcess({ network, settings })
    try {
      return await new LargeList({ process, network, entries: count, log }).measure()
    } finally {
      await process.stop()
    }
  } finally {
    await server.remove()
    await network.remove()
  }
}

class LargeList {
  readonly #process: AuthorityProcess
  readonly #network: TestNetwork
  readonly #caller: KeepAliveClient
  readonly #log: (line: string) => void
  readonly #violations: string[] = []
  #next: number
  #cases = 0

  constructor(facts: {
    process: AuthorityProcess
    network: TestNetwork
    entries: number
    log: (line: string) => void
  }) {
    this.#process = facts.process
    this.#network = facts.network
    this.#log = facts.log
    this.#next = facts.entries
    this.#caller = new KeepAliveClient(facts.process.url)
  }

  async measure(): Promise<CampaignResult> {
    try {
      await this.#revoke(this.#take(1))
      await this.#rebuildUnderWatch()
      await this.#serve()
      await this.#revokeInBulk('one after the other', async (lists) => {
        for (const ids of lists) await this.#revoke(ids)
      })
      await this.#revokeInBulk('all at once', async (lists) => {
        await Promise.all(lists.map((ids) => this.#revoke(ids)))
      })
      await this.#serve()
    } finally {
      this.#caller.close()
    }
    for (const violation of this.#violations) this.#log(`violation: ${violation}`)
    return { cases: this.#cases, violations: this.#violations.length }
  }

  #require(isGood: boolean, sentence: string): void {
    this.#cases += 1
    if (!isGood) this.#violations.push(sentence)
  }

  #take(size: number): string[] {
    const first = this.#next
    this.#next += size
    return Array.from({ length: size }, (_, index) => seededCertificateId(SEED, first + index))
  }

  async #revoke(cert_ids: readonly string[]): Promise<JsonObject> {
    const answer = await this.#process.as('privileged')('POST', '/admin/revoke', { cert_ids, only_this: true })
    this.#require(answer.status === 200, `a revocation answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return (answer.json ?? {}) as JsonObject
  }

  /** Rebuilds the list every second for longer than a gauge period, and measures with a probe from outside. */
  async #rebuildUnderWatch(): Promise<void> {
    const idle = await this.#watch(() => Promise.resolve())
    this.#log(`idle: event loop delay inside p99 ${idle.inside.toFixed(1)} ms, probe ${figures(idle.delays)}`)
    const builds: number[] = []
    const { inside, delays } = await this.#watch(async () => {
      const before = performance.now()
      await this.#revoke(this.#take(1))
      builds.push(performance.now() - before)
      // A reader loads each new list.
      await this.#caller.send({ method: 'GET', path: '/crl' })
    })
    this.#log(`rebuilds of ${this.#next} entries: ${figures(builds)}`)
    this.#log(`rebuilding: event loop delay inside p99 ${inside.toFixed(1)} ms, probe ${figures(delays)}`)
    this.#require(inside <= LOOP_MS, `event loop delay p99 ${inside.toFixed(1)} ms`)
    // From outside, the response time and the scheduling of two processes are added.
    const outside = percentile(delays, 0.99)
    this.#require(outside <= 2 * LOOP_MS, `probe p99 ${outside.toFixed(1)} ms`)
  }

  /** Calls `act` every second; returns the event loop delays of that time, by the gauge and by a probe. */
  async #watch(work: () => Promise<void>): Promise<{ inside: number; delays: readonly number[] }> {
    const gauge = (): Promise<number> => readGauge(this.#process.url, 'chancery_event_loop_delay_p99_seconds')
    // The gauge reports the larger value of the last and the current period. Two reads start a new period.
    for (let look = 0; look < 2; look += 1) {
      await gauge()
      await pause(PERIOD_MS)
    }
    await gauge()
    const probe = new LoopProbe(this.#process.url, 5)
    const started = performance.now()
    for (let turn = 1; turn < REBUILDS; turn += 1) {
      await work()
      await pause(Math.max(0, turn * 1000 - (performance.now() - started)))
    }
    const inside = await gauge()
    return { inside: inside * 1000, delays: await probe.stop() }
  }

  async #serve(): Promise<void> {
    const list = { method: 'GET', path: '/crl' }
    const full = await this.#caller.send(list)
    const again = await this.#caller.send(list)
    const etag = full.etag ?? ''
    const unchanged = await this.#caller.send({ ...list, headers: { 'if-none-match': etag } })
    this.#log(
      `GET /crl: ${(full.text.length / 1e6).toFixed(1)} MB in ${full.milliseconds.toFixed(0)} ms, ` +
        `again in ${again.milliseconds.toFixed(0)} ms, 304 in ${unchanged.milliseconds.toFixed(1)} ms`,
    )
    this.#require(full.status === 200 && /^"[^"]+"$/.test(etag), `GET /crl answered ${full.status}, ETag ${etag}`)
    this.#require(again.etag === etag && again.text === full.text, 'the same list has two ETags or contents')
    this.#require(unchanged.status === 304 && unchanged.text === '', `If-None-Match answered ${unchanged.status}`)
    const { revoked_certificates } = JSON.parse(full.text) as { revoked_certificates: unknown[] }
    this.#require(revoked_certificates.length === this.#next, `${revoked_certificates.length} of ${this.#next} listed`)
    this.#require(verifiesWithNodeCrypto(full.text, this.#network.authority.publicKey), 'the list does not verify')
  }

  async #revokeInBulk(name: string, send: (lists: readonly string[][]) => Promise<void>): Promise<void> {
    const ids = this.#take(BULK)
    const lists = Array.from({ length: BULK / PER_REQUEST }, (_, index) =>
      ids.slice(index * PER_REQUEST, (index + 1) * PER_REQUEST),
    )
    const started = performance.now()
    await send(lists)
    const seconds = (performance.now() - started) / 1000
    this.#log(`bulk revocation of ${BULK}, ${name}: ${seconds.toFixed(1)} s`)
    this.#require(seconds <= BULK_SECONDS, `bulk revocation, ${name}: ${seconds.toFixed(1)} s`)
  }
}
