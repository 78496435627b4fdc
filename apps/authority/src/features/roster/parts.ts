import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface RosterParts extends Pick<Core, 'activeWindow' | 'clock' | 'clockCheck' | 'database' | 'reads'> {
  readonly settings: Pick<AuthoritySettings, 'evidenceStore'>
}
