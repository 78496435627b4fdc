import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type EntryRange, type ListChange, changeBetween, toUtf8, verifySignature } from '@chancery/protocol'
import { changeJson, listMissing, splitEntries } from './signed-list.ts'

/** Room behind the list for its signature. */
const SIGNATURE_ROOM = 2048
const [CLOSE_OBJECT, COMMA] = [0x7d, 0x2c]
/** States that stay although they are not committed. */
const RECENT = 4
/** Fast: a segment is written while the lock of the list is held. */
const LEVEL = 1

interface Segment {
  /** Entries as signed, joined by commas. */
  readonly bytes: Uint8Array
  readonly count: number
}

/** The entries of one version by bucket. */
type ListState = Map<number, Segment>

/** The bucket of entries that were stored as one text. */
export const UNSORTED = -1

export interface FinishedList {
  /** The signed form of the list, and room for its signature. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly signedBytes: number
  readonly count: number
  /** What changed since the version before, as text for its row; null when that is unknown or too much. */
  readonly change: string | null
  /** Entries of the version before that are not listed any more. */
  readonly missing: readonly string[]
  /** Segments with other content than in the version before, compressed, and buckets without entries. */
  readonly changed: readonly { readonly bucket: number; readonly body: Uint8Array<ArrayBuffer> }[]
  readonly gone: readonly number[]
}

/**
 * Large lists as segments of bytes. Runs in a separate thread: for 500,000 entries every step here takes tenths of a
 * second. States are named by rising numbers that the caller chooses.
 */
export class ListStates {
  readonly #states = new Map<number, ListState>()
  /** The signed form of lists that wait for their signature. */
  readonly #unsigned = new Map<number, Uint8Array>()
  /** The state that was committed last. */
  #kept: number | undefined

  /** Begins a state, empty or as a copy. Segments are shared, because they are never changed in place. */
  open({ state, from }: { readonly state: number; readonly from?: number | undefined }): void {
    this.#states.set(state, new Map(from === undefined ? [] : this.#state(from)))
    // A build uses two or three states. Those of builds that were given up are each as large as a list.
    const old = [...this.#states.keys()].filter((each) => each <= state - RECENT)
    this.discard({ states: old.filter((each) => each !== from && each !== this.#kept) })
  }

  /** Removes the states of a build that failed. */
  discard({ states }: { readonly states: readonly number[] }): void {
    for (const each of states) {
      this.#states.delete(each)
      this.#unsigned.delete(each)
    }
  }

  /** Number of lists in memory. For tests. */
  count(): number {
    return this.#states.size + this.#unsigned.size
  }

  /** Adds stored segments. */
  addStored(given: {
    readonly state: number
    readonly segments: readonly { readonly bucket: number; readonly body: Uint8Array }[]
  }): void {
    const state = this.#state(given.state)
    for (const { bucket, body } of given.segments) state.set(bucket, toSegment(unzip(body)))
  }

  /** Adds entries by bucket, joined by commas. An empty text removes the bucket. */
  addTexts(given: { readonly state: number; readonly texts: readonly (readonly [number, string])[] }): void {
    const state = this.#state(given.state)
    for (const [bucket, text] of given.texts)
      if (text === '') state.delete(bucket)
      else state.set(bucket, toSegment(toUtf8(text)))
  }

  /** Whether one of the keys signed the list of this state. */
  async verify(given: {
    readonly state: number
    readonly before: string
    readonly after: string
    readonly sig: string
    readonly keys: readonly string[]
  }): Promise<boolean> {
    const message = join(this.#state(given.state), given.before, given.after, 0)
    for (const key of given.keys) if (await verifySignature(key, message, given.sig)) return true
    return false
  }

  /** The signed form of a state, and how it differs from the version before. */
  finish(given: {
    readonly state: number
    readonly previous: number | undefined
    readonly before: string
    readonly after: string
  }): FinishedList {
    const state = this.#state(given.state)
    const previous = given.previous === undefined ? undefined : this.#state(given.previous)
    const difference = compare(previous ?? new Map<number, Segment>(), state)
    const bytes = join(state, given.before, given.after, SIGNATURE_ROOM)
    const signedBytes = bytes.length - SIGNATURE_ROOM
    this.#unsigned.set(given.state, bytes.slice(0, signedBytes))
    return {
      bytes,
      signedBytes,
      count: countOf(state),
      change: previous === undefined ? null : changeJson(difference.change),
      missing: previous === undefined ? [] : difference.missing,
      changed: difference.changed.map((bucket) => ({ bucket, body: compress(state.get(bucket)) })),
      gone: difference.gone,
    }
  }

  /** Verifies the signature of a finished list. Returns the SHA-256 of the whole text, undefined for a wrong signature. */
  async seal(given: {
    readonly state: number
    readonly end: string
    readonly sig: string
    readonly publicKey: string
  }): Promise<string | undefined> {
    const message = this.#unsigned.get(given.state)
    this.#unsigned.delete(given.state)
    if (message === undefined) throw new Error('the list is not finished')
    if (!(await verifySignature(given.publicKey, message, given.sig))) return undefined
    return createHash('sha256').update(message.subarray(0, -1)).update(given.end).digest('hex')
  }

  /** Removes all states before this one: it was committed. A later one may be under way. */
  keep({ state }: { readonly state: number }): void {
    this.#kept = state
    for (const states of [this.#states, this.#unsigned])
      for (const each of states.keys()) if (each < state) states.delete(each)
  }

  #state(number: number): ListState {
    const state = this.#states.get(number)
    if (state === undefined) throw new Error('the list is not open')
    return state
  }
}

/** Entries of 1,000 positions have some hundred kilobytes, with escaped ids not ten times as many. */
const MAX_SEGMENT_BYTES = 8_388_608

/** A damaged segment has no bytes, so the list does not verify. */
function unzip(body: Uint8Array): Uint8Array {
  try {
    return gunzipSync(body, { maxOutputLength: MAX_SEGMENT_BYTES })
  } catch {
    return new Uint8Array()
  }
}

function toSegment(bytes: Uint8Array): Segment {
  let count = 0
  // No value of an entry contains a brace.
  for (let at = bytes.indexOf(CLOSE_OBJECT); at >= 0; at = bytes.indexOf(CLOSE_OBJECT, at + 1)) count += 1
  return { bytes, count }
}

function inOrder(state: ListState): readonly (readonly [number, Segment])[] {
  return [...state].sort(([a], [b]) => a - b)
}

function countOf(state: ListState): number {
  let count = 0
  for (const segment of state.values()) count += segment.count
  return count
}

/** One run of bytes: the text before the entries, all segments, the text after them, and room. */
function join(state: ListState, before: string, after: string, room: number): Uint8Array<ArrayBuffer> {
  const [start, end] = [toUtf8(before), toUtf8(after)]
  const segments = inOrder(state)
  const commas = Math.max(segments.length - 1, 0)
  const entries = segments.reduce((sum, [, { bytes }]) => sum + bytes.length, commas)
  const out = new Uint8Array(start.length + entries + end.length + room)
  out.set(start)
  let at = start.length
  for (const [index, [, { bytes }]] of segments.entries()) {
    if (index > 0) {
      out[at] = COMMA
      at += 1
    }
    out.set(bytes, at)
    at += bytes.length
  }
  out.set(end, at)
  return out
}

function compress(segment: Segment | undefined): Uint8Array<ArrayBuffer> {
  // Copied: the buffer is moved to the other thread, and the library may use one for several results.
  return Uint8Array.from(gzipSync(segment?.bytes ?? new Uint8Array(), { level: LEVEL }))
}

interface Difference {
  readonly change: ListChange
  readonly missing: readonly string[]
  readonly changed: readonly number[]
  readonly gone: readonly number[]
}

/** Only segments that differ are read: after a revocation that is the last one. */
function compare(previous: ListState, next: ListState): Difference {
  const buckets = [...new Set([...previous.keys(), ...next.keys()])].sort((a, b) => a - b)
  const [removed, added]: [EntryRange[], { at: number; entries: readonly string[] }[]] = [[], []]
  const [allBefore, allAfter, changed, gone]: [string[], string[], number[], number[]] = [[], [], [], []]
  let [beforeAt, afterAt] = [0, 0]
  let run: { before: string[]; after: string[] } = { before: [], after: [] }
  const endRun = (): void => {
    const change = changeBetween(run.before, run.after)
    for (const { at, count } of change.removed) removed.push({ at: beforeAt + at, count })
    for (const { at, entries } of change.added) added.push({ at: afterAt + at, entries })
    for (const text of run.before) allBefore.push(text)
    for (const text of run.after) allAfter.push(text)
    beforeAt += run.before.length
    afterAt += run.after.length
    run = { before: [], after: [] }
  }
  for (const bucket of buckets) {
    const [was, is] = [previous.get(bucket), next.get(bucket)]
    if (was !== undefined && is !== undefined && isSame(was, is)) {
      endRun()
      beforeAt += was.count
      afterAt += is.count
      continue
    }
    for (const text of entriesOf(was)) run.before.push(text)
    for (const text of entriesOf(is)) run.after.push(text)
    if (is === undefined) gone.push(bucket)
    else changed.push(bucket)
  }
  endRun()
  return { change: { removed, added }, missing: listMissing(allBefore, allAfter), changed, gone }
}

function isSame(a: Segment, b: Segment): boolean {
  return a === b || (a.bytes.length === b.bytes.length && Buffer.compare(a.bytes, b.bytes) === 0)
}

function entriesOf(segment: Segment | undefined): readonly string[] {
  return segment === undefined ? [] : splitEntries(Buffer.from(segment.bytes).toString('utf8'))
}
