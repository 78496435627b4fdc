import {
  FormError,
  MAX_MANIFEST_SEGMENTS,
  TreeRange,
  entryOf,
  fromHex,
  hashLeaf,
  joinBytes,
  lineShortcuts,
  manifestName,
  rangePlaces,
  readEventLine,
  readReceived,
  retentionCheckpointForm,
  segmentName,
  sha256Hex,
  toManifestCheckpoint,
  toUtf8,
  writeArchiveManifest,
  writeHashes,
} from '@chancery/protocol'
import type {
  ArchiveChain,
  ArchiveManifest,
  ArchiveSegment,
  ArchiveTrust,
  LogIdentity,
  NodeReader,
  RetentionCheckpoint,
} from '@chancery/protocol'
import { CommandError } from '../../../errors/failure.ts'
import type { ArchiveFiles } from './files.ts'
import { SEGMENT_TEXT_BYTES, compress } from './read.ts'
import type { Client } from '@chancery/sdk/authority'
import type { Connection } from '../../../connection/connection.ts'
import { fetchCheckpoint, findLogTrust, treeOf } from '../witnesses.ts'

/** Entries of a segment, and the multiple at which one ends: then its entries have one hash in the tree. */
const SEGMENT_ENTRIES = 16_384
/** Segments that an interrupted run writes again at most. */
const MANIFEST_EVERY = 16

/** The log that an archive is written from. */
interface ArchiveSource {
  /** The signed checkpoint, and the identity of the log. */
  readonly checkpoint: string
  readonly identity: LogIdentity | null
  /** Hashes of the tree; they count only if they give the signed root. */
  readonly read: NodeReader
  /** All entries after a sequence, in order. */
  lines(after: number): AsyncIterable<string>
  /** The signed boundary after which the store begins. */
  boundary(removedThrough: number): Promise<RetentionCheckpoint | undefined>
}

export interface ArchiveSize {
  readonly entriesPerSegment?: number
  readonly segmentsPerManifest?: number
}

export interface WrittenArchive {
  readonly entries: number
  readonly segments: number
  readonly last: number
}

/** Adds all entries that the checkpoint covers and the archive does not have. Only new files are written. */
export class ArchiveWriter {
  readonly #files: ArchiveFiles
  readonly #chain: ArchiveChain
  readonly #trust: ArchiveTrust
  readonly #source: ArchiveSource
  readonly #size: Required<ArchiveSize>
  #lines: Uint8Array[] = []
  #bytes = 0
  #segments: ArchiveSegment[] = []
  /** The hashes of the entries of the segment that is collected. */
  #range: TreeRange
  #written = 0

  constructor(
    files: ArchiveFiles,
    chain: ArchiveChain,
    { trust, source, size = {} }: { trust: ArchiveTrust; source: ArchiveSource; size?: ArchiveSize },
  ) {
    this.#files = files
    this.#chain = chain
    this.#trust = trust
    this.#source = source
    this.#size = { entriesPerSegment: SEGMENT_ENTRIES, segmentsPerManifest: MANIFEST_EVERY, ...size }
    this.#range = new TreeRange(chain.last)
  }

  async write(update: (entries: number) => void = () => undefined): Promise<WrittenArchive> {
    const { checkpoint, identity } = this.#source
    const signed = await toManifestCheckpoint(checkpoint, identity, this.#trust)
    if (signed === undefined) throw writeError('The checkpoint of the log is not signed by the authority.')
    const { size } = signed.opened
    if (size < this.#chain.last)
      throw writeError(`The log has ${size} entries, and the archive ${this.#chain.last}: the store was rolled back.`)
    const from = this.#chain.last
    let entries = 0
    if (size > from)
      for await (const line of this.#source.lines(from)) {
        const sequence = this.#take(line)
        entries += 1
        if (this.#isFull(sequence)) await this.#endSegment()
        if (this.#segments.length >= this.#size.segmentsPerManifest) await this.#endManifest(signed)
        if (sequence === size) break
        update(entries)
      }
    await this.#endSegment()
    await this.#endManifest(signed)
    if (this.#chain.last !== size && size > 0)
      throw writeError(`The store ends before entry ${size}, which its log covers.`)
    return { entries, segments: this.#written, last: this.#chain.last }
  }

  /** Only the first entry of a new archive may be a later one: entries before it were removed. */
  #take(line: string): number {
    const entry = entryOf(readEventLine(line, lineShortcuts))
    const leaf = entry === undefined ? undefined : fromHex(entry.digest)
    if (entry === undefined || leaf === undefined) throw writeError('An entry of the store was changed.')
    const isFirst = this.#chain.number === 0 && this.#segments.length === 0 && this.#lines.length === 0
    if (isFirst) this.#range = new TreeRange(entry.sequence - 1)
    if (entry.sequence !== this.#range.end + 1)
      throw writeError(
        `Entry ${this.#range.end + 1} is missing in the store: it was removed before it was archived.`,
        'Start a new archive in another folder, and keep this one.',
      )
    const bytes = toUtf8(`${line}\n`)
    this.#lines.push(bytes)
    this.#bytes += bytes.length
    this.#range.addLeaf(hashLeaf(leaf))
    return entry.sequence
  }

  #isFull(sequence: number): boolean {
    return sequence % this.#size.entriesPerSegment === 0 || this.#bytes >= SEGMENT_TEXT_BYTES
  }

  async #endSegment(): Promise<void> {
    if (this.#lines.length === 0) return
    const content = await compress(joinBytes(this.#lines))
    const { start, end, hashes } = this.#range
    const facts = { digest: sha256Hex(content), bytes: content.length }
    const segment = { ...facts, first: start + 1, last: end, tree: writeHashes(hashes) }
    if (await this.#files.create(segmentName(segment), content)) this.#written += 1
    this.#segments.push(segment)
    this.#range = new TreeRange(end)
    ;[this.#lines, this.#bytes] = [[], 0]
  }

  /** Nothing is named in an archive before its hashes gave the root that the authority signed. */
  async #endManifest(signed: NonNullable<Awaited<ReturnType<typeof toManifestCheckpoint>>>): Promise<void> {
    const [first] = this.#segments
    if (first === undefined) return
    const { opened, ...covered } = signed
    const removed = this.#chain.number === 0 ? first.first - 1 : 0
    const manifest: ArchiveManifest = {
      format: 'chancery.evidence-archive',
      version: 1,
      network: this.#trust.network,
      number: this.#chain.number + 1,
      previous: this.#chain.digest,
      boundary: removed === 0 ? null : ((await this.#source.boundary(removed)) ?? null),
      before: await this.#readRange(0, removed),
      segments: this.#segments.slice(0, MAX_MANIFEST_SEGMENTS),
      after: await this.#readRange(this.#range.start, opened.size),
      ...covered,
    }
    const text = writeArchiveManifest(manifest)
    const refusal = await this.#chain.add(text)
    if (refusal !== undefined)
      throw writeError(
        `The entries of the store are not those that its log covers (${refusal}).`,
        'Verify the store: chancery evidence export, then chancery verify. Nothing was added to the archive.',
      )
    await this.#files.create(manifestName(manifest.number), toUtf8(text))
    this.#segments = []
  }

  async #readRange(start: number, end: number): Promise<readonly string[]> {
    const hashes: Uint8Array[] = []
    for (const { level, index } of rangePlaces(start, end)) hashes.push(await this.#source.read(level, index))
    return writeHashes(hashes)
  }
}

function writeError(message: string, hint?: string): CommandError {
  return new CommandError({ code: 'archive_failed', message, hint })
}

/** The store of a running authority, as the source of an archive. */
export async function openSource(
  connection: Connection,
): Promise<{ readonly source: ArchiveSource; readonly trust: ArchiveTrust; readonly size: number }> {
  const { identity, keys } = await findLogTrust(connection)
  const { note, size } = await fetchCheckpoint(connection)
  const { genesis, followed } = connection
  const client = await connection.client()
  const source: ArchiveSource = {
    checkpoint: note,
    identity: identity ?? null,
    read: treeOf(client, size),
    lines: (after) => client.evidence.export(after),
    boundary: (removedThrough) => findBoundary(client, removedThrough),
  }
  const trust = { keys: followed?.keys ?? keys, network: genesis?.network_name ?? '' }
  return { source, trust, size }
}

/** Each boundary is an entry after the entries that it removed. */
async function findBoundary(client: Client, removedThrough: number): Promise<RetentionCheckpoint | undefined> {
  for (let after: number | null = removedThrough; after !== null;) {
    const filter: { entry_kind: string; after_sequence: number } = {
      entry_kind: 'retention_checkpoint',
      after_sequence: after,
    }
    const page = await client.evidence.search(filter)
    for (const { payload } of page.entries) {
      const found = readBoundary(payload)
      if (found?.removed_through_sequence === removedThrough) return found
    }
    after = page.next_after_sequence
  }
  return undefined
}

function readBoundary(payload: Parameters<typeof readReceived>[1]): RetentionCheckpoint | undefined {
  try {
    return readReceived(retentionCheckpointForm, payload).record
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}
