import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface SovereignParts extends Pick<Core, 'keys' | 'network' | 'newestBlock' | 'signing'> {
  readonly settings: Pick<AuthoritySettings, 'publicUrl'>
}
