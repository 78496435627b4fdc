import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Route } from '@chancery/contract'

export interface ReferenceParts extends Pick<Core, 'clock' | 'genesis'> {
  readonly settings: Pick<AuthoritySettings, 'limits' | 'publicUrl'>
  /** What this instance serves, for the reference documents. */
  listRoutes(): readonly Route[]
}
