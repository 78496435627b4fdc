import { setTimeout as pause } from 'node:timers/promises'
import { retrySeconds } from '../../../packages/sdk/src/node/schedule.ts'
import { seededAge, seededCertificateId } from '../../tools/seeded-nodes.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import type { FleetReplies, FleetReport, FleetTask, SampledNode } from './generator.ts'
import { FleetCounts, Lanes, TimingWheel } from './lanes.ts'
import { NodeRequests } from './node-requests.ts'

const TICK_MS = 5
const STOP_SECONDS = 10
const LOST_RETRY_MS = 1000
/** Renewals that were due before the start are spread over this share of the run. */
const OVERDUE_SHARE = 0.2
const NEXT = /"next_heartbeat_seconds":(\d+)/
const CERT_ID = /"cert_id":"([0-9a-f-]{36})"/
const SEQUENCE = /"sequence":(\d+)/
const ETAG = /\r\netag: ("[^"\r]*")/i
const CODE = /"code":"([a-z_]+)"/

/** In a byte for each node. Held: its revocation is under way. */
const STATES = { absent: 0, live: 1, held: 2, revoked: 3 } as const

/** The nodes and readers. A node waits for its answer, and then for the time that the answer names. */
export class Fleet {
  readonly #task: FleetTask
  readonly #lanes: Lanes
  readonly #requests: NodeRequests
  readonly #wheel: TimingWheel
  readonly #random: Random
  readonly #counts = new FleetCounts()
  readonly #state: Uint8Array
  /** When the last acknowledged heartbeat was sent; 0 without one. */
  readonly #sentAt: Float64Array
  /** Certificates that differ from the seeded ones: of joined and renewed nodes. */
  readonly #certificates = new Map<number, string>()
  /** The certificate of the last acknowledged heartbeat, where it differs from the seeded one. */
  readonly #beatWith = new Map<number, string>()
  readonly #renewing = new Set<number>()
  readonly #revokedAt = new Map<number, number>()
  /** Renewals of the run, the last one first. */
  readonly #renewals: { readonly node: number; readonly atMs: number }[] = []
  /** What each reader has. */
  readonly #read: { etag: string | undefined; sequence: number }[]
  readonly #startedMs = performance.now()
  #polled = 0
  #timer: NodeJS.Timeout | undefined

  private constructor(task: FleetTask, lanes: Lanes) {
    this.#task = task
    this.#lanes = lanes
    this.#requests = new NodeRequests(task)
    this.#wheel = new TimingWheel(task.nodes)
    this.#random = seededRandom(Number.parseInt(task.seed, 10))
    this.#state = new Uint8Array(task.nodes)
    this.#sentAt = new Float64Array(task.nodes)
    this.#read = Array.from({ length: task.readers }, () => ({ etag: undefined, sequence: 0 }))
  }

  static async open(task: FleetTask): Promise<Fleet> {
    const lanes = await Lanes.open(task, task.connections, () => performance.now())
    const fleet = new Fleet(task, lanes)
    fleet.#plan()
    fleet.#timer = setInterval(() => fleet.#tick(), TICK_MS)
    setTimeout(() => fleet.#counts.endWarmUp(performance.now()), task.warmUpSeconds * 1000)
    return fleet
  }

  sample(count: number): readonly SampledNode[] {
    const found = new Map<number, SampledNode>()
    for (let tries = 0; found.size < count && tries < count * 4; tries += 1) {
      const node = this.#random.below(this.#task.nodes)
      const sentAtMs = this.#sentAt[node] ?? 0
      if (this.#state[node] !== STATES.live || sentAtMs === 0) continue
      found.set(node, { node, sentAtMs, cert_id: this.#beatWith.get(node) ?? this.#seededId(node) })
    }
    return [...found.values()]
  }

  hold(): FleetReplies['hold'] {
    for (let tries = 0; tries < 1000; tries += 1) {
      const node = this.#random.below(this.#task.seeded)
      if (this.#state[node] !== STATES.live || this.#renewing.has(node)) continue
      this.#state[node] = STATES.held
      return { node, cert_id: this.#certificateOf(node) }
    }
    return null
  }

  noteRevoked(node: number, atMs: number): void {
    if (this.#state[node] === STATES.absent) return
    this.#state[node] = STATES.revoked
    this.#revokedAt.set(node, atMs)
  }

  addJoined(node: number, cert_id: string): void {
    this.#certificates.set(node, cert_id)
    this.#state[node] = STATES.live
    // The library sends the first heartbeat at once.
    this.#wheel.add(node, this.#elapsed())
  }

  report(): FleetReport {
    return this.#counts.report(performance.now())
  }

  async stop(): Promise<FleetReport> {
    clearInterval(this.#timer)
    const report = this.report()
    const end = performance.now() + STOP_SECONDS * 1000
    while (this.#lanes.pending > 0 && performance.now() < end) await pause(10)
    // Answers after the end count as acknowledged, but not in the rates.
    const { allAcknowledged, violations } = this.report()
    return { ...report, allAcknowledged, violations }
  }

  #plan(): void {
    const { seeded, silent, paceSeconds, runSeconds, filledAtMs, seed } = this.#task
    const startMs = Date.now()
    for (let node = 0; node < seeded - silent; node += 1) {
      this.#state[node] = STATES.live
      this.#wheel.add(node, (this.#random.next() / 2 ** 32) * paceSeconds * 1000)
      const { issuedBeforeMs, renewedAfterMs } = seededAge(seed, node)
      const atMs = filledAtMs - issuedBeforeMs + renewedAfterMs - startMs
      if (atMs <= 0)
        this.#renewals.push({ node, atMs: (this.#random.next() / 2 ** 32) * OVERDUE_SHARE * runSeconds * 1000 })
      else if (atMs < runSeconds * 1000) this.#renewals.push({ node, atMs })
    }
    this.#renewals.sort((a, b) => b.atMs - a.atMs)
  }

  #elapsed(): number {
    return performance.now() - this.#startedMs
  }

  #tick(): void {
    const now = this.#elapsed()
    this.#wheel.take(now, (node, dueMs) => {
      this.#counts.add('due')
      this.#beat(node, this.#startedMs + dueMs)
    })
    for (let next = this.#renewals.at(-1); next !== undefined && next.atMs <= now; next = this.#renewals.at(-1)) {
      this.#renewals.pop()
      if (this.#state[next.node] === STATES.live) this.#renew(next.node, this.#startedMs + next.atMs)
    }
    const { readers, paceSeconds } = this.#task
    for (const due = Math.floor((now / 1000 / paceSeconds) * readers); this.#polled < due; this.#polled += 1)
      this.#poll(this.#polled % readers)
  }

  #beat(node: number, dueMs: number): void {
    let cert_id = ''
    let sentAtMs = 0
    this.#lanes.send({
      dueMs,
      write: () => {
        cert_id = this.#certificateOf(node)
        sentAtMs = Date.now()
        return this.#requests.heartbeat(node, cert_id, sentAtMs)
      },
      answered: ({ status, milliseconds, body }, lateMs) => {
        const text = body.toString('latin1')
        if (status !== 200) return this.#onRefused(node, status, text, sentAtMs)
        this.#counts.acknowledge(milliseconds, lateMs)
        if (sentAtMs > (this.#revokedAt.get(node) ?? Infinity))
          this.#counts.violate(`node ${node} is accepted after its revocation`)
        this.#sentAt[node] = sentAtMs
        if (this.#certificates.has(node)) this.#beatWith.set(node, cert_id)
        const seconds = Number(NEXT.exec(text)?.[1] ?? Number.NaN)
        if (!(seconds > 0)) this.#counts.violate(`an answer names no next heartbeat: ${text.slice(0, 200)}`)
        this.#wheel.add(node, this.#elapsed() + (seconds > 0 ? seconds : this.#task.paceSeconds) * 1000)
      },
      lost: () => {
        this.#counts.note('lost')
        this.#wheel.add(node, this.#elapsed() + LOST_RETRY_MS)
      },
    })
  }

  #onRefused(node: number, status: number, text: string, sentAtMs: number): void {
    const code = CODE.exec(text)?.[1]
    const state = this.#state[node]
    if (status === 429 || status === 503) this.#counts.note('overloaded')
    else if (code === 'certificate_revoked' && (state === STATES.held || state === STATES.revoked)) {
      // It sends no more.
      if (sentAtMs > (this.#revokedAt.get(node) ?? Infinity)) this.#counts.note('refusedRevoked')
      this.#state[node] = STATES.absent
      return
    } else this.#counts.violate(`a heartbeat of node ${node} is answered with ${status} ${text.slice(0, 200)}`)
    this.#wheel.add(node, this.#elapsed() + retrySeconds(1, this.#random.next() / 2 ** 32) * 1000)
  }

  #renew(node: number, dueMs: number): void {
    this.#renewing.add(node)
    this.#lanes.send({
      dueMs,
      write: () => this.#requests.renewal(node, this.#certificateOf(node), Date.now()),
      answered: ({ status, body }) => {
        const text = body.toString('latin1')
        const cert_id = CERT_ID.exec(text)?.[1]
        if (status === 201 && cert_id !== undefined) {
          this.#counts.add('renewals')
          this.#certificates.set(node, cert_id)
          this.#renewing.delete(node)
        } else if (status === 429 || status === 503) {
          this.#counts.note('overloaded')
          this.#renewLater(node)
        } else {
          this.#counts.violate(`a renewal of node ${node} is answered with ${status} ${text.slice(0, 200)}`)
          this.#renewing.delete(node)
        }
      },
      lost: () => {
        this.#counts.note('lost')
        this.#renewLater(node)
      },
    })
  }

  #renewLater(node: number): void {
    const atMs = this.#elapsed() + retrySeconds(1, this.#random.next() / 2 ** 32) * 1000
    this.#renewals.push({ node, atMs })
    this.#renewals.sort((a, b) => b.atMs - a.atMs)
  }

  #poll(reader: number): void {
    const known = this.#read[reader]
    if (known === undefined) return
    this.#lanes.send({
      dueMs: performance.now(),
      write: () => this.#requests.poll(known.etag),
      answered: ({ status, head, body }) => {
        this.#counts.add('polls')
        if (status === 304) return this.#counts.add('unchangedPolls')
        if (status === 429 || status === 503) return this.#counts.note('overloaded')
        const sequence = Number(SEQUENCE.exec(body.toString('latin1'))?.[1] ?? Number.NaN)
        const etag = ETAG.exec(head)?.[1]
        // Number of the list that the reader has: it may not go back.
        if (status !== 200 || etag === undefined || !(sequence >= known.sequence))
          this.#counts.violate(`reader ${reader} of list ${known.sequence} gets ${status}, list ${sequence}`)
        known.etag = etag
        known.sequence = sequence
      },
      lost: () => this.#counts.note('lost'),
    })
  }

  #certificateOf(node: number): string {
    return this.#certificates.get(node) ?? this.#seededId(node)
  }

  #seededId(node: number): string {
    return seededCertificateId(this.#task.seed, node)
  }
}
