import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Route } from '@chancery/contract'

export interface ReferenceParts extends Pick<Core, 'clock' | 'genesis'> {
  readonly settings: Pick<AuthoritySettings, 'limits' | 'publicUrl'>
  /** The routes of this instance, for the reference documents. */
  listRoutes(): readonly Route[]
}
