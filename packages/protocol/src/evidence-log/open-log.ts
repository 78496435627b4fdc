import { allAuthorityKeys } from '../artifacts/followed-keys.ts'
import type { AuthorityKeys } from '../artifacts/followed-keys.ts'
import { logOrigin, openCheckpoint } from './note.ts'
import type { LogCheckpoint } from './note.ts'

/** The checkpoint of a note that one of the keys signed under this name. */
export async function openCheckpointByAny(
  note: string,
  origin: string,
  keys: readonly string[],
): Promise<LogCheckpoint | undefined> {
  for (const key of keys) {
    const opened = await openCheckpoint(note, origin, key)
    if (opened !== undefined) return opened
  }
  return undefined
}

/** The checkpoint of a note of an authority. It has no date, so a former key may have signed it. */
export function openLog(note: string, keys: AuthorityKeys): Promise<LogCheckpoint | undefined> {
  return openCheckpointByAny(note, logOrigin(keys.genesis.network_name), allAuthorityKeys(keys))
}
