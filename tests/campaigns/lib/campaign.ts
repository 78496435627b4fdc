/** What every campaign is given; the same seed and count must give the same cases. */
export interface CampaignOptions {
  readonly count: number
  readonly seed: number
  readonly log: (line: string) => void
  /** How large the fleet is, for campaigns that have one. */
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
