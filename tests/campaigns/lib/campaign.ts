/** Input of every campaign; the same seed and count must give the same cases. */
export interface CampaignOptions {
  readonly count: number
  readonly seed: number
  readonly log: (line: string) => void
  /** Number of nodes, for campaigns that have them. */
  readonly nodes?: number
}

export interface CampaignResult {
  readonly cases: number
  readonly violations: number
}

/** The exports of `tests/campaigns/<name>.ts`. */
export interface Campaign {
  readonly summary: string
  readonly defaultCount: number
  run(options: CampaignOptions): Promise<CampaignResult>
}
