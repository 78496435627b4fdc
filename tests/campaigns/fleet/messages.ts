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
