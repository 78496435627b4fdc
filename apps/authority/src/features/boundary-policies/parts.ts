import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Attestations } from '../attestations/index.ts'

export interface BoundaryPoliciesParts extends Pick<
  Core,
  'audit' | 'clock' | 'database' | 'keys' | 'log' | 'metrics' | 'network' | 'signing'
> {
  readonly settings: Pick<AuthoritySettings, 'boundaryPolicyEnforcement' | 'evidenceStore'>
  readonly attestations: Attestations
}
