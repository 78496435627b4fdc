import { type LargeList, isLargeList, splitFrame } from '../../database/list-segments.ts'
import { type CrlState, type LargeEntries, isLarge, setCurrent } from './entries-cache.ts'
import { type BuildState, MAX_PLAIN_ENTRIES, loadSegments, signatureOf } from './large-list.ts'
import { type CrlVersion, findActiveVersion, loadList } from './queries.ts'
import { readBuckets } from './segment-queries.ts'

/**
 * Reads a large list and its rows into the thread, once after the start of a process. Otherwise the first revocation
 * would read them, while it has the lock of the list and its caller waits. A list that is not as signed, or that the
 * rows do not give, is left to the next build, which reports it.
 */
export async function warmList(parts: CrlState, signal: AbortSignal): Promise<void> {
  const { builder, database, entries } = parts
  const before = entries.last
  if (isLarge(before)) return
  const active = await findActiveVersion(database.read)
  if (active === undefined || active.entries <= MAX_PLAIN_ENTRIES) return
  const list = await loadList(database.read, active.sequence)
  if (!isLargeList(list) || builder.isBuilding) return
  const opened: number[] = []
  const open = async (from?: number): Promise<number> => {
    const state = await builder.open(from)
    opened.push(state)
    return state
  }
  // A build that began meanwhile reads the rows itself, and must not wait for this.
  const isStopped = (): boolean =>
    signal.aborted || builder.isBuilding || builder.newest !== opened.at(-1) || entries.last !== before
  let found: LargeEntries | undefined
  try {
    found = await readList({ ...parts, open }, list, active, isStopped)
    // Entries change with the list only, so these rows are those of the list unless there is another one now.
    const now = await findActiveVersion(database.read)
    if (now?.sequence !== active.sequence || now.issuedAt !== active.issuedAt || isStopped()) found = undefined
  } catch (error) {
    // A build ends the states of this.
    if (!isStopped()) throw error
    found = undefined
  } finally {
    await builder.discard(opened.filter((state) => state !== found?.state)).catch(() => undefined)
  }
  if (found !== undefined) setCurrent(parts, found)
}

/** Undefined when the list is not as signed, when the rows do not give it, or when it is stopped. */
async function readList(
  parts: BuildState,
  list: LargeList,
  { sequence, issuedAt }: CrlVersion,
  isStopped: () => boolean,
): Promise<LargeEntries | undefined> {
  const { builder, database, signing } = parts
  const [signed, sig] = [await loadSegments(database.read, parts, list, undefined), signatureOf(list.frame_json)]
  if (signed === undefined || sig === undefined || list.head_json === null || isStopped()) return undefined
  const state = await parts.open()
  for await (const texts of readBuckets(database.read)) {
    if (isStopped()) return undefined
    await builder.addTexts({ state, texts })
  }
  const [before, rest] = splitFrame(list.frame_json)
  const after = `],"sequence":${sequence}}`
  const end = rest.slice(after.length - 1)
  const made = await builder.finish({ state, previous: signed.state, before, after })
  if (made.changed.length > 0 || made.gone.length > 0 || isStopped()) return undefined
  const digest = await builder.seal({ state, end, sig, publicKey: signing.publicKey })
  if (digest === undefined || digest !== list.digest) return undefined
  // As in a new list: the last brace moves behind the signature.
  made.bytes.set(Buffer.from(end, 'latin1'), made.signedBytes - 1)
  const bytes = made.bytes.subarray(0, made.signedBytes - 1 + end.length)
  const { manifest } = signed
  return { sequence, issuedAt, count: made.count, state, manifest, bytes, digest, head_json: list.head_json }
}
