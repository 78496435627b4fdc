import { type Answered, LoadConnection, type LoadTarget } from '../../../bench/lib/load-connection.ts'
import type { FleetReport } from './generator.ts'

/** A request that waits for a connection. Its bytes are made when it is sent, so that its signature is never old. */
interface Job {
  readonly dueMs: number
  write(): Buffer
  /** `lateMs`: from the time it was due until it was sent. */
  answered(answer: Answered, lateMs: number): void
  lost(): void
}

interface Lane {
  connection: LoadConnection | undefined
  job: Job | undefined
  lateMs: number
}

/** Persistent connections with one request at a time each, as a proxy in front of the authority has them. */
export class Lanes {
  readonly #idle: Lane[] = []
  readonly #nowMs: () => number
  #queue: Job[] = []
  #head = 0
  #open = 0

  private constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  static async open(place: LoadTarget, count: number, nowMs: () => number): Promise<Lanes> {
    const lanes = new Lanes(nowMs)
    await Promise.all(Array.from({ length: count }, () => lanes.#connect(place)))
    return lanes
  }

  /** Requests without an answer, and those that wait. */
  get pending(): number {
    return this.#open + this.#queue.length - this.#head
  }

  send(job: Job): void {
    this.#queue.push(job)
    const lane = this.#idle.shift()
    if (lane !== undefined) this.#use(lane)
  }

  async #connect(place: LoadTarget): Promise<void> {
    const refused = Promise.withResolvers<never>()
    const opening = LoadConnection.open(place, {
      next: (answer) => {
        const { lateMs } = lane
        this.#finish(lane)?.answered(answer, lateMs)
        const request = this.#take(lane)
        if (request !== undefined) return request
        this.#idle.push(lane)
        return 'wait'
      },
      failed: (error) => {
        if (lane.connection === undefined) refused.reject(error)
        // An idle connection that the server closed is opened again when it is used.
        const job = this.#finish(lane)
        if (job === undefined) return
        job.lost()
        this.#idle.push(lane)
      },
      ended: () => undefined,
    })
    const lane: Lane = { connection: undefined, job: undefined, lateMs: 0 }
    lane.connection = await Promise.race([opening, refused.promise])
    this.#idle.push(lane)
  }

  #finish(lane: Lane): Job | undefined {
    const { job } = lane
    if (job === undefined) return undefined
    lane.job = undefined
    this.#open -= 1
    return job
  }

  #use(lane: Lane): void {
    const request = this.#take(lane)
    if (request === undefined) this.#idle.push(lane)
    else lane.connection?.send(request)
  }

  #take(lane: Lane): Buffer | undefined {
    const job = this.#queue[this.#head]
    if (job === undefined) return undefined
    this.#head += 1
    if (this.#head === this.#queue.length || this.#head > 10_000) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    lane.job = job
    lane.lateMs = this.#nowMs() - job.dueMs
    this.#open += 1
    return job.write()
  }
}

const FINE_MS = 0.1
const FINE = 10_000
const COARSE_MS = 10
const COARSE = 12_000

/** Times with an error of 0.1 ms below a second and of 10 ms above, so that millions of them take no memory. */
export class Histogram {
  readonly #fine = new Uint32Array(FINE)
  readonly #coarse = new Uint32Array(COARSE)
  #count = 0

  get count(): number {
    return this.#count
  }

  add(ms: number): void {
    this.#count += 1
    const fine = Math.floor(Math.max(0, ms) / FINE_MS)
    if (fine < FINE) this.#fine[fine] = (this.#fine[fine] ?? 0) + 1
    else {
      const coarse = Math.min(Math.floor(ms / COARSE_MS), COARSE - 1)
      this.#coarse[coarse] = (this.#coarse[coarse] ?? 0) + 1
    }
  }

  /** Upper end of the step that contains the quantile; not-a-number without values. */
  quantile(share: number): number {
    let left = Math.floor(this.#count * share)
    for (const [index, count] of this.#fine.entries()) if ((left -= count) < 0) return (index + 1) * FINE_MS
    for (const [index, count] of this.#coarse.entries()) if ((left -= count) < 0) return (index + 1) * COARSE_MS
    return Number.NaN
  }
}

/** Width of a slot. Nodes of one slot are due together. */
const SLOT_MS = 10
/** More than the longest heartbeat interval, 990 s with its variation. */
const SLOTS = 131_072

/** When which node is due: 4 bytes for each node, and constant time for adding and taking. */
export class TimingWheel {
  readonly #first = new Int32Array(SLOTS).fill(-1)
  /** The node after this one in its slot. */
  readonly #next: Int32Array
  #slot = 0

  constructor(nodes: number) {
    this.#next = new Int32Array(nodes).fill(-1)
  }

  /** `atMs` since the start of the wheel. A time that has passed is due at once. A node may be there only once. */
  add(node: number, atMs: number): void {
    const slot = Math.max(Math.floor(atMs / SLOT_MS), this.#slot)
    if (slot - this.#slot >= SLOTS) throw new RangeError(`${atMs} ms is too far ahead`)
    const place = slot % SLOTS
    this.#next[node] = this.#first[place] ?? -1
    this.#first[place] = node
  }

  /** Calls `visit` for all nodes that are due, with the time they were due at. They are no longer in the wheel. */
  take(nowMs: number, visit: (node: number, dueMs: number) => void): void {
    const last = Math.floor(nowMs / SLOT_MS)
    for (; this.#slot < last; this.#slot += 1) {
      const place = this.#slot % SLOTS
      let node = this.#first[place] ?? -1
      this.#first[place] = -1
      while (node >= 0) {
        const next = this.#next[node] ?? -1
        visit(node, this.#slot * SLOT_MS)
        node = next
      }
    }
  }
}

const KEPT_VIOLATIONS = 20

/** Counts since the end of the warm-up, and those of the whole run. */
export class FleetCounts {
  #answers = new Histogram()
  #waits = new Histogram()
  #sinceMs = 0
  #measured = { due: 0, renewals: 0, polls: 0, unchangedPolls: 0 }
  readonly #whole = { allAcknowledged: 0, overloaded: 0, lost: 0, refusedRevoked: 0 }
  readonly #violations: string[] = []
  #violationCount = 0

  endWarmUp(nowMs: number): void {
    this.#sinceMs = nowMs
    this.#answers = new Histogram()
    this.#waits = new Histogram()
    this.#measured = { due: 0, renewals: 0, polls: 0, unchangedPolls: 0 }
  }

  add(name: 'due' | 'renewals' | 'polls' | 'unchangedPolls'): void {
    this.#measured[name] += 1
  }

  note(name: 'overloaded' | 'lost' | 'refusedRevoked'): void {
    this.#whole[name] += 1
  }

  acknowledge(answerMs: number, lateMs: number): void {
    this.#whole.allAcknowledged += 1
    this.#answers.add(answerMs)
    this.#waits.add(lateMs)
  }

  violate(sentence: string): void {
    this.#violationCount += 1
    if (this.#violations.length < KEPT_VIOLATIONS) this.#violations.push(sentence)
  }

  report(nowMs: number): FleetReport {
    const more = this.#violationCount - this.#violations.length
    return {
      seconds: (nowMs - this.#sinceMs) / 1000,
      ...this.#measured,
      ...this.#whole,
      acknowledged: this.#answers.count,
      answerP50Ms: this.#answers.quantile(0.5),
      answerP99Ms: this.#answers.quantile(0.99),
      waitP99Ms: this.#waits.quantile(0.99),
      violations: more === 0 ? this.#violations : [...this.#violations, `${more} more`],
    }
  }
}
