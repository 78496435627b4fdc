import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Route } from '@chancery/contract'

export interface ReferenceParts extends Pick<Core, 'clock' | 'limits' | 'network' | 'signing'> {
  readonly settings: Pick<AuthoritySettings, 'publicUrl'>
  /** The routes of this instance, for the reference documents. */
  listRoutes(): readonly Route[]
}
