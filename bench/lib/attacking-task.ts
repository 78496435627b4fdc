/** Task and result of the attacking caller. */
export interface AttackTask {
  readonly port: number
  /** The one address it calls from. */
  readonly from: string
  readonly seconds: number
}

export interface AttackReport {
  /** Responses by kind and status; `none` where a connection was closed or left without one. */
  readonly answers: Readonly<Record<string, number>>
  readonly sentBytes: number
  readonly withheldConnections: number
}

export type AttackMessage = { readonly report: AttackReport } | { readonly problem: string } | { readonly ready: true }
