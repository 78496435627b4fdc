import { type Answered, LoadConnection, type LoadTarget } from '../../../bench/lib/load-connection.ts'

/** A request that waits for a connection. Its bytes are made when it is sent, so that its signature is never old. */
export interface Job {
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
