import type { MaterialChecks, RunsChecks } from './material-checks.ts'
import type { PartnersParts } from './parts.ts'

export interface PartnersState extends PartnersParts {
  readonly checks: MaterialChecks
}

/** For one pull, whose checks end with it. */
export interface PullingParts extends PartnersParts {
  readonly checks: RunsChecks
}
