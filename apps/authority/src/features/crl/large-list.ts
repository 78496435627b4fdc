import { type Instant, readCrl, readJson, readOrUndefined, writeJson } from '@chancery/protocol'
import { sleep } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import { DamagedListError, isLargeList, readManifest, readSegments, splitFrame } from '../../database/list-segments.ts'
import type { LargeList, Manifest } from '../../database/list-segments.ts'
import { RecordFault, clearFault } from '../../signing/record-faults.ts'
import { type BuiltList, type CrlState, type LargeEntries, type ListChanges, isLarge } from './entries-cache.ts'
import { NOT_AS_SIGNED, describeDropped, withoutEnded } from './continuity.ts'
import { type FinishedList, UNSORTED } from './list-states.ts'
import { type CrlHeader, listText } from './lists.ts'
import { type CrlVersion, loadList } from './queries.ts'
import { bucketOf, readBucket, readBuckets, replaceSegments, storeSegments } from './segment-queries.ts'
import type { BucketText } from './segment-queries.ts'
import { signedEntries } from './signed-list.ts'

/** Lists with more entries are built in a thread and stored in segments. */
export const MAX_PLAIN_ENTRIES = 5000
/** With more changed buckets all entries are read. */
const MAX_BUCKETS = 100

/** The list before, as the thread has it. */
export interface Previous {
  readonly state: number
  /** Empty when it was stored as one text. */
  readonly manifest: Manifest
  /** This process has compared all rows with a list that this one follows. */
  readonly isCompared: boolean
}

interface ListFacts {
  readonly header: CrlHeader
  readonly now: Instant
}

/** The parts of one build. */
export interface BuildState extends CrlState {
  /** Begins a state in the thread, empty or as a copy of one. */
  open(from?: number): Promise<number>
}

/**
 * Builds and signs a list that is too large for the event loop. Rows are read some thousand at a time, and a thread
 * makes the text, the change and the digest. After most changes only the last segment is read, built and stored.
 */
export async function buildLargeList(
  tx: Transaction,
  parts: CrlState,
  previous: CrlVersion | undefined,
  changes: ListChanges,
  facts: ListFacts,
): Promise<BuiltList> {
  const { builder } = parts
  const opened: number[] = []
  const open = async (from?: number): Promise<number> => {
    const state = await whileBusy(tx.query, builder.open(from))
    opened.push(state)
    return state
  }
  try {
    return await builder.build(() => build(tx, { ...parts, open }, previous, changes, facts))
  } catch (error) {
    // A damaged row fails every attempt, and each would leave whole lists in the thread.
    await builder.discard(opened).catch(() => undefined)
    throw error
  }
}

async function build(
  tx: Transaction,
  parts: BuildState,
  previous: CrlVersion | undefined,
  changes: ListChanges,
  { header, now }: ListFacts,
): Promise<BuiltList> {
  const { builder } = parts
  const before = previous === undefined ? undefined : await loadPrevious(tx.query, parts, previous, changes)
  const buckets = [...new Set(changes.positions.map(bucketOf))]
  const isAll = before?.isCompared !== true || changes.isAnywhere || buckets.length > MAX_BUCKETS
  const state = await parts.open(isAll ? undefined : before?.state)
  const add = (texts: readonly BucketText[]): Promise<void> => whileBusy(tx.query, builder.addTexts({ state, texts }))
  if (isAll) for await (const texts of readBuckets(tx.query)) await add(texts)
  else for (const bucket of buckets) await add([await readBucket(tx.query, bucket)])

  const frame = listText(header, '')
  const [start, rest] = splitFrame(frame)
  const list = await whileBusy(tx.query, builder.finish({ state, previous: before?.state, before: start, after: rest }))
  const dropped = await withoutEnded(tx.query, parts.keys, list.missing, now)
  // A fault ends only when all rows were compared.
  if (before !== undefined && (isAll || dropped.length > 0))
    clearFault(parts.recordFaults, 'crl', describeDropped(dropped))

  const { bytes, end, digest } = await whileBusy(tx.query, sign(parts, list, state))
  const manifest = await store(tx, header.sequence, list, before?.manifest)
  const { count } = list
  const { sequence, issuedAt } = header
  return {
    count,
    bytes: bytes.length,
    row: {
      crl_json: '',
      change_json: list.change,
      frame_json: `${frame.slice(0, -1)}${end}`,
      segments_json: JSON.stringify(manifest),
      digest,
    },
    stored: (head_json) => ({ sequence, issuedAt, count, state, manifest, bytes, digest, head_json }),
  }
}

/** PostgreSQL ends a session that is idle in a transaction for ten seconds. */
const ASK_MS = 2000

/** Waits for a thread inside a transaction. On a loaded machine that takes longer than a session may be idle. */
async function whileBusy<Value>(tx: Reader, work: Promise<Value>): Promise<Value> {
  for (;;) {
    const timer = new AbortController()
    const pause = sleep(ASK_MS, timer.signal)
    const result = await Promise.race([work.then((value) => ({ value })), pause]).finally(() => timer.abort())
    if (result !== undefined) return result.value
    await sql`select 1`.execute(tx)
  }
}

/** Signs the list, and verifies the signature in the thread. */
async function sign(
  { signing, builder }: CrlState,
  { bytes, signedBytes }: FinishedList,
  state: number,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly end: string; readonly digest: string }> {
  let digest: string | undefined
  let end = ''
  const signed = await signing.signLarge(bytes, signedBytes, async (sig) => {
    end = `,"signatures":[${writeJson({ key_id: signing.keyId, sig })}]}`
    digest = await builder.seal({ state, end, sig, publicKey: signing.publicKey })
    return digest !== undefined
  })
  if (digest === undefined) throw new Error('the list was not verified')
  // Canonical form is ASCII. The last brace moves behind the signature.
  signed.set(Buffer.from(end, 'latin1'), signedBytes - 1)
  return { bytes: signed.subarray(0, signedBytes - 1 + end.length), end, digest }
}

/** Stores what changed. After a recovery the list before is unknown here, and all its segments are replaced. */
async function store(
  tx: Transaction,
  sequence: number,
  list: FinishedList,
  before: Manifest | undefined,
): Promise<Manifest> {
  if (before === undefined) await replaceSegments(tx, sequence)
  const ended = new Set([...list.changed.map(({ bucket }) => bucket), ...list.gone])
  const replaced = (before ?? []).filter(([bucket]) => ended.has(bucket))
  await storeSegments(tx, sequence, { added: list.changed, replaced })
  const kept = (before ?? []).filter(([bucket]) => !ended.has(bucket))
  const added = list.changed.map(({ bucket }) => [bucket, sequence] as const)
  return [...kept, ...added].sort(([a], [b]) => a - b)
}

/** The list before, in the thread. Undefined when it is not compared. */
async function loadPrevious(
  tx: Reader,
  parts: BuildState,
  previous: CrlVersion,
  { isRecovered }: ListChanges,
): Promise<Previous | undefined> {
  if (isRecovered) return undefined
  const { builder, entries, keys } = parts
  const cached = entries.find(previous)
  if (isLarge(cached) && builder.has(cached.state))
    return { state: cached.state, manifest: cached.manifest, isCompared: true }
  const list = await loadList(tx, previous.sequence)
  if (isLargeList(list)) {
    const last = isLarge(entries.last) ? entries.last : undefined
    // A failover may have lost the last list of this process and given its number to another one: then all are read.
    const loaded =
      (await loadSegments(tx, parts, list, last)) ?? (last && (await loadSegments(tx, parts, list, undefined)))
    if (loaded === undefined) throw faultOf(parts, NOT_AS_SIGNED)
    return loaded
  }
  const text =
    cached !== undefined && !isLarge(cached)
      ? cached.text
      : await signedEntries(list.crl_json, previous.sequence, keys.all)
  if (text === undefined) throw faultOf(parts, NOT_AS_SIGNED)
  const state = await parts.open()
  await whileBusy(tx, builder.addTexts({ state, texts: [[UNSORTED, text]] }))
  return { state, manifest: [], isCompared: false }
}

/** Reads the segments that the thread does not have of the last list. Undefined when the list is not as signed. */
export async function loadSegments(
  tx: Reader,
  parts: BuildState,
  list: LargeList,
  last: LargeEntries | undefined,
): Promise<Previous | undefined> {
  try {
    return await loadKnownSegments(tx, parts, list, last)
  } catch (error) {
    if (error instanceof DamagedListError) return undefined
    throw error
  }
}

async function loadKnownSegments(
  tx: Reader,
  parts: BuildState,
  list: LargeList,
  last: LargeEntries | undefined,
): Promise<Previous | undefined> {
  const { builder, keys } = parts
  const manifest = readManifest(list.segments_json)
  const held = last !== undefined && builder.has(last.state) ? last : undefined
  const state = await parts.open(held?.state)
  const known = new Set(held?.manifest.map(String))
  const wanted = new Set(manifest.map(([bucket]) => bucket))
  const gone = (held?.manifest ?? []).filter(([bucket]) => !wanted.has(bucket))
  await whileBusy(tx, builder.addTexts({ state, texts: gone.map(([bucket]) => [bucket, '']) }))
  const unknown = manifest.filter((pair) => !known.has(String(pair)))
  for await (const segments of readSegments(tx, unknown)) await whileBusy(tx, builder.addStored({ state, segments }))
  const [before, rest] = splitFrame(list.frame_json)
  const after = `],"sequence":${list.sequence}}`
  const sig = signatureOf(list.frame_json)
  if (sig === undefined || !rest.startsWith(`${after.slice(0, -1)},"signatures":[`)) return undefined
  const isSigned = await whileBusy(tx, builder.verify({ state, before, after, sig, keys: keys.all }))
  return isSigned ? { state, manifest, isCompared: last !== undefined } : undefined
}

function faultOf({ recordFaults }: CrlState, problem: string): RecordFault {
  recordFaults.report('crl', { problem })
  return new RecordFault('crl', problem)
}

/** A frame is a list without entries. */
export function signatureOf(frame: string): string | undefined {
  return readOrUndefined(() => readCrl(readJson(frame)).signatures[0]?.sig)
}
