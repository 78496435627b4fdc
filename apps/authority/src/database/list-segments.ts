import { gunzip, gzipSync } from 'node:zlib'
import { readJson, readOrUndefined } from '@chancery/protocol'
import type { Reader } from './database.ts'

/** Positions of entries that share a segment. */
export const BUCKET = 1000
/** Segments read by one statement: some hundred kilobytes. */
const PAGE = 16
const ENTRIES = '"revoked_certificates":['
const COMMA = gzipSync(',')

/** The segments of a version in order: bucket, and the version that wrote the segment. */
export type Manifest = readonly (readonly [bucket: number, sequence: number])[]

/** A stored list is not complete: a row was removed or edited. */
export class DamagedListError extends Error {
  override readonly name = 'DamagedListError'
}

export interface StoredSegment {
  readonly bucket: number
  readonly body: Uint8Array
}

/** A version as stored: a short list as its text, a large one as frame and segments. */
export interface StoredList {
  readonly sequence: number
  readonly crl_json: string
  readonly head_json: string | null
  readonly frame_json: string | null
  readonly segments_json: string | null
  readonly digest: string | null
  readonly bytes: number | null
}

export type LargeList = StoredList & { readonly frame_json: string; readonly segments_json: string }

export function isLargeList(list: StoredList): list is LargeList {
  return list.frame_json !== null && list.segments_json !== null
}

export async function findList(db: Reader, sequence: number): Promise<StoredList | undefined> {
  return db
    .selectFrom('crl_versions')
    .select(['sequence', 'crl_json', 'head_json', 'frame_json', 'segments_json', 'digest', 'bytes'])
    .where('sequence', '=', sequence)
    .executeTakeFirst()
}

/** The text of a large list before and after its entries. */
export function splitFrame(frame: string): readonly [before: string, after: string] {
  const at = frame.indexOf(ENTRIES) + ENTRIES.length
  return [frame.slice(0, at), frame.slice(at)]
}

export function readManifest(text: string): Manifest {
  const pairs = readOrUndefined(() => readJson(text, { maxDepth: 4, maxValues: text.length + 1, maxNames: 1 }))
  const isManifest =
    Array.isArray(pairs) &&
    pairs.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((number) => Number.isSafeInteger(number)),
    )
  if (!isManifest) throw new DamagedListError('the segments of a stored list have another form')
  return pairs as Manifest
}

/** Reads segments in order, some at a time. */
export async function* readSegments(db: Reader, manifest: Manifest): AsyncGenerator<readonly StoredSegment[]> {
  for (let at = 0; at < manifest.length; at += PAGE) {
    const wanted = manifest.slice(at, at + PAGE)
    const rows = await db
      .selectFrom('crl_segments')
      .select(['bucket', 'sequence', 'body'])
      .where((eb) => eb.or(wanted.map(([bucket, sequence]) => eb.and({ bucket, sequence }))))
      .execute()
    const bodies = new Map(rows.map((row) => [`${row.bucket} ${row.sequence}`, row.body]))
    yield wanted.map(([bucket, sequence]) => {
      const body = bodies.get(`${bucket} ${sequence}`)
      if (body === undefined) throw new DamagedListError(`segment ${bucket} of the list ${sequence} is not stored`)
      return { bucket, body }
    })
  }
}

/** The whole list as gzip, in pieces. Several gzip members in a row are one gzip file. */
export async function* gzipOfList(db: Reader, list: LargeList): AsyncGenerator<Uint8Array> {
  const [before, after] = splitFrame(list.frame_json)
  yield gzipSync(before)
  let isFirst = true
  for await (const segments of readSegments(db, readManifest(list.segments_json)))
    for (const { body } of segments) {
      if (!isFirst) yield COMMA
      isFirst = false
      yield body
    }
  yield gzipSync(after)
}

/** The bytes of a list as signed. A large one is decompressed in the thread pool. */
export async function loadListBytes(db: Reader, list: StoredList): Promise<Uint8Array<ArrayBuffer>> {
  if (!isLargeList(list)) return new TextEncoder().encode(list.crl_json)
  const pieces: Uint8Array[] = []
  for await (const piece of gzipOfList(db, list)) pieces.push(piece)
  return unzipList(Buffer.concat(pieces), list.bytes ?? undefined)
}

/** `bytes` is the size of the list, so that it is written to one buffer and not joined on the event loop. */
export function unzipList(gzip: Uint8Array, bytes?: number): Promise<Uint8Array<ArrayBuffer>> {
  const options = bytes === undefined ? {} : { chunkSize: bytes + 64, maxOutputLength: bytes + 64 }
  return new Promise((resolve, reject) => {
    gunzip(gzip, options, (error, plain) =>
      error === null ? resolve(plain) : reject(new DamagedListError('a stored list cannot be read', { cause: error })),
    )
  })
}

/** The text of a list as signed. Holds the event loop for a large one, so it is for commands and short lists. */
export async function loadListText(db: Reader, list: StoredList): Promise<string> {
  if (!isLargeList(list)) return list.crl_json
  return Buffer.from(await loadListBytes(db, list)).toString('utf8')
}
