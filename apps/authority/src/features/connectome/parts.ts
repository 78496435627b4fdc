import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface ConnectomeParts extends Pick<
  Core,
  'clock' | 'database' | 'network' | 'verifiedTreaties' | 'versions'
> {
  readonly settings: Pick<AuthoritySettings, 'databaseLocation'>
}
