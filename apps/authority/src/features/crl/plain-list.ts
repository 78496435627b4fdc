import type { Instant } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import type { BuiltList, ListChanges } from './built-list.ts'
import { loadSignedEntries, requireLiving } from './continuity.ts'
import { isLarge } from './entries-cache.ts'
import { type CrlHeader, listText } from './list-text.ts'
import { type CrlVersion, joinEntries } from './queries.ts'
import type { CrlState } from './state.ts'
import { changeText } from './version-change.ts'

/** Builds and signs a list as one text. */
export async function buildPlainList(
  tx: Reader,
  parts: CrlState,
  previous: CrlVersion | undefined,
  changes: ListChanges,
  { header, now }: { readonly header: CrlHeader; readonly now: Instant },
): Promise<BuiltList> {
  const gathered = await gatherEntries(tx, parts, previous, changes)
  const { text: entries, count } = gathered
  let before: string | undefined
  if (gathered.isRead && previous !== undefined && !changes.isRecovered) {
    before = cachedText(parts, previous) ?? (await loadSignedEntries(tx, parts, previous))
    await requireLiving(tx, parts, { before, entries, now })
  }
  const body = listText(header, entries)
  const crl_json = `${body.slice(0, -1)},"signatures":[${await parts.signing.signText(body)}]}`
  const change_json = changeText(previous, {
    before,
    after: entries,
    appended: gathered.isRead ? undefined : changes.appended,
  })
  const { sequence, issuedAt } = header
  return {
    count,
    // Canonical form is ASCII: one byte per character.
    bytes: crl_json.length,
    row: { crl_json, change_json, frame_json: null, segments_json: null, digest: null },
    stored: () => ({ sequence, issuedAt, text: entries, count }),
  }
}

function cachedText({ entries }: CrlState, previous: CrlVersion | undefined): string | undefined {
  const cached = entries.find(previous)
  return cached === undefined || isLarge(cached) ? undefined : cached.text
}

/** Appends to the cached entries of the last version, or reads all entries from the database. */
async function gatherEntries(
  tx: Reader,
  parts: CrlState,
  previous: CrlVersion | undefined,
  { appended, pruned, isRewritten }: ListChanges,
): Promise<{ readonly text: string; readonly count: number; readonly isRead: boolean }> {
  const cached = cachedText(parts, previous)
  if (cached === undefined || pruned > 0 || isRewritten)
    return { ...(await joinEntries(parts.database, tx)), isRead: true }
  const added = appended.map((entry) => entry.entry_json)
  // It contains everything that this process signed, so nothing can be missing.
  const text = [...(cached === '' ? [] : [cached]), ...added].join(',')
  return { text, count: (previous?.entries ?? 0) + added.length, isRead: false }
}
