import type { PartnersParts } from './parts.ts'
import type { MaterialChecks } from './material-checks.ts'

export interface PartnersState extends PartnersParts {
  readonly checks: MaterialChecks
}
