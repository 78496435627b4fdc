import { logOrigin, readCheckpointText, readNote } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { LogState } from './queries.ts'

export interface OriginParts {
  readonly network: Pick<Core['network'], 'name'>
  readonly settings: Pick<AuthoritySettings, 'logOrigin'>
}

/** The name that a note states. It counts only with a signature under it. */
export function statedOrigin(note: string): string {
  return readCheckpointText(readNote(note)?.text ?? '')?.origin ?? ''
}

/** The name of the log. It is fixed with the first entry; before that the setting decides. */
export function originOf(state: LogState | undefined, { network, settings }: OriginParts): string {
  if (state !== undefined && state.size > 0) return statedOrigin(state.note)
  return settings.logOrigin ?? logOrigin(network.name)
}
