import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface SovereignParts extends Pick<Core, 'genesis' | 'genesisText' | 'newestBlock' | 'ownKeys' | 'signer'> {
  readonly settings: Pick<AuthoritySettings, 'publicUrl'>
}
