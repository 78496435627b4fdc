import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { requireLoopback } from '../../../bench/lib/loopback.ts'
import type { RequestFacts } from './node-requests.ts'

/** What the process of the nodes does. */
export interface FleetTask extends RequestFacts {
  /** Seeded nodes. `nodes` has the room for joins, too. */
  readonly seeded: number
  /** The last of the seeded nodes, which send nothing. */
  readonly silent: number
  readonly filledAtMs: number
  readonly paceSeconds: number
  readonly runSeconds: number
  /** Not part of the figures. */
  readonly warmUpSeconds: number
  readonly connections: number
  /** Readers that poll the revocation list once in each heartbeat interval. */
  readonly readers: number
}

export type FleetCall =
  | { readonly kind: 'start'; readonly task: FleetTask }
  /** Random nodes that have an acknowledged heartbeat. */
  | { readonly kind: 'sample'; readonly count: number }
  /** The node will be revoked: it renews no more, and may be refused from now on. */
  | { readonly kind: 'hold' }
  /** The revocation was acknowledged at this time: a heartbeat that is sent later must be refused. */
  | { readonly kind: 'revoked'; readonly node: number; readonly atMs: number }
  | { readonly kind: 'joined'; readonly node: number; readonly cert_id: string }
  | { readonly kind: 'report' }
  /** Waits for the open requests. */
  | { readonly kind: 'stop' }

export interface SampledNode {
  readonly node: number
  /** The certificate of the acknowledged heartbeat. */
  readonly cert_id: string
  /** When the acknowledged heartbeat was sent, as the clock of the machine says. */
  readonly sentAtMs: number
}

export interface FleetReport {
  /** Since the end of the warm-up, as the next seven. */
  readonly seconds: number
  readonly due: number
  readonly acknowledged: number
  readonly answerP50Ms: number
  readonly answerP99Ms: number
  /** From the time a heartbeat was due until it was sent: the generator is late, or all its connections wait. */
  readonly waitP99Ms: number
  readonly renewals: number
  readonly polls: number
  readonly unchangedPolls: number
  /** In the whole run, as the following ones. */
  readonly allAcknowledged: number
  /** Answers 429 and 503. */
  readonly overloaded: number
  /** Connections that ended without an answer. */
  readonly lost: number
  /** Revoked nodes whose next heartbeat was refused. */
  readonly refusedRevoked: number
  readonly violations: readonly string[]
}

export interface FleetReplies {
  readonly start: null
  readonly sample: readonly SampledNode[]
  readonly hold: { readonly node: number; readonly cert_id: string } | null
  readonly revoked: null
  readonly joined: null
  readonly report: FleetReport
  readonly stop: FleetReport
}

type Reply = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly problem: string }

/** The nodes, in a separate process, so that their processor time can be measured alone. */
export class FleetGenerator {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #calls = 0

  constructor() {
    this.#child = fork(fileURLToPath(new URL('generator-main.ts', import.meta.url)), {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child.on('message', (message: Reply) => {
      const waiting = this.#waiting.get(message.id)
      this.#waiting.delete(message.id)
      if ('problem' in message) waiting?.reject(new Error(`nodes: ${message.problem}`))
      else waiting?.resolve(message.value)
    })
    this.#child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the process of the nodes ended'))
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async start(task: FleetTask): Promise<void> {
    requireLoopback(task.host)
    await this.ask({ kind: 'start', task })
  }

  ask<Call extends FleetCall>(call: Call): Promise<FleetReplies[Call['kind']]> {
    const id = (this.#calls += 1)
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#child.send({ id, call })
    return waiting.promise as Promise<FleetReplies[Call['kind']]>
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
