import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { CrlVersion } from './queries.ts'

/** From this part of the readers' limit on, an operator must act, because readers refuse a list above the limit. */
export const LARGE_PART = 0.5

/** Returns the size of the current list as a part of its readers' limit. Undefined when its size is unknown. */
export function partOfBound(
  active: CrlVersion | undefined,
  { listReaderBytes }: Pick<AuthoritySettings, 'listReaderBytes'>,
): number | undefined {
  return active?.bytes === undefined ? undefined : active.bytes / listReaderBytes
}

export const SHRINK_LIST =
  'Issue shorter certificates, so that entries end sooner, or raise the bound of every reader (GATEWAY_MAX_LIST_BYTES, maxResponseBytes) and then NA_LIST_READER_BYTES: docs/operate/capacity.md.'
