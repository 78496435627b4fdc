/** Input of every campaign; the same seed and count must give the same cases. */
export interface CampaignOptions {
  readonly count: number
  readonly seed: number
  readonly log: (line: string) => void
  /** Number of nodes, for campaigns that have them. */
  readonly nodes?: number
  /** Length of the run, for campaigns that run for a time. */
  readonly minutes?: number
  /** Heartbeat interval in seconds. */
  readonly pace?: number
  /** How the authority stores heartbeats. */
  readonly mode?: 'strict' | 'gathered'
  /** Worker processes of the authority. */
  readonly workers?: number
  /** Only the cases whose name contains this, for campaigns that have named cases. */
  readonly only?: string
}

export interface CampaignResult {
  readonly cases: number
  readonly violations: number
  /** What was measured, printed with the result. */
  readonly figures?: Readonly<Record<string, number | string>>
}

/** The exports of `tests/campaigns/<name>.ts`. */
export interface Campaign {
  readonly summary: string
  readonly defaultCount: number
  run(options: CampaignOptions): Promise<CampaignResult>
}
