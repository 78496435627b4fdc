import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { CrlVersion } from './queries.ts'

/** From this part of the readers' bound on, somebody should act: a list over it is read by nobody. */
export const LARGE_PART = 0.5

/** What part of the bound of its readers the list in force takes; undefined when its size is not known. */
export function partOfBound(
  active: CrlVersion | undefined,
  { listReaderBytes }: Pick<AuthoritySettings, 'listReaderBytes'>,
): number | undefined {
  return active?.bytes === undefined ? undefined : active.bytes / listReaderBytes
}

export const SHRINK_LIST =
  'Issue shorter certificates, so that entries end sooner, or raise the bound of every reader (GATEWAY_MAX_LIST_BYTES, maxResponseBytes) and then NA_LIST_READER_BYTES: docs/operate/capacity.md.'
