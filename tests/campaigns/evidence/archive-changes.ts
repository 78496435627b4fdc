import { zstdDecompressSync } from 'node:zlib'
import {
  entryOf,
  fromHex,
  fromUtf8,
  hashLeaf,
  manifestName,
  readArchiveManifest,
  readEventLine,
  segmentName,
  sha256Hex,
  toUtf8,
  TreeRange,
  writeArchiveManifest,
  writeHashes,
} from '@chancery/protocol'
import type { ArchiveManifest, ArchiveSegment, JsonObject } from '@chancery/protocol'
import { compress } from '../../../apps/cli/src/commands/evidence/archive-files/read.ts'
import type { Random } from '../lib/random.ts'
import { alter, editLine, forgeFrom, leavesOf, replaceAt } from './forging.ts'

/** The files of an archive by name. */
export type ArchiveContent = ReadonlyMap<string, Uint8Array>

interface ChangedArchive {
  readonly way: string
  readonly content: ArchiveContent
}

type Change = (whole: ArchiveContent, other: ArchiveContent, random: Random) => Promise<ChangedArchive>

/** One change to an archive, by a person without a key who computes every digest again. */
export async function tamperArchive(
  whole: ArchiveContent,
  other: ArchiveContent,
  random: Random,
): Promise<ChangedArchive> {
  for (;;) {
    const changed = await random.pick(CHANGES)(whole, other, random)
    if (!isSame(whole, changed.content)) return changed
  }
}

function isSame(a: ArchiveContent, b: ArchiveContent): boolean {
  return a.size === b.size && [...a].every(([name, bytes]) => Buffer.compare(bytes, b.get(name) ?? Buffer.of()) === 0)
}

const CHANGES: readonly [Change, ...Change[]] = [
  changeByte,
  changeByte,
  changeFile,
  changeFile,
  cutTail,
  editManifest,
  editManifest,
  reorderManifest,
  editEntries,
  editEntries,
  mixArchives,
]

function anyName(content: ArchiveContent, random: Random, folder = ''): string {
  const names = [...content.keys()].filter((name) => name.startsWith(folder)).toSorted()
  return names[random.below(names.length)] ?? ''
}

/** One byte of one file changed, added or removed. */
async function changeByte(whole: ArchiveContent, _other: ArchiveContent, random: Random): Promise<ChangedArchive> {
  const name = anyName(whole, random)
  const bytes = [...(whole.get(name) ?? [])]
  const at = random.below(bytes.length)
  const value = ((bytes[at] ?? 0) + 1 + random.below(255)) % 256
  const kind = random.below(10)
  bytes.splice(at, kind === 0 ? 0 : 1, ...(kind === 1 ? [] : [value]))
  return { way: `byte of ${folderOf(name)}`, content: new Map(whole).set(name, Uint8Array.from(bytes)) }
}

function folderOf(name: string): string {
  return name.split('/')[0] ?? ''
}

/** A whole file removed, cut, doubled under another name, or exchanged with another one of the archive. */
async function changeFile(whole: ArchiveContent, _other: ArchiveContent, random: Random): Promise<ChangedArchive> {
  const name = anyName(whole, random)
  const folder = folderOf(name)
  const bytes = whole.get(name) ?? new Uint8Array()
  const content = new Map(whole)
  const second = anyName(whole, random, folder)
  switch (random.below(5)) {
    case 0:
      content.delete(name)
      // Without its last manifest an archive is one of an earlier time, with a file that it does not name.
      return { way: `${folder} removed`, content }
    case 1:
      return { way: `${folder} cut`, content: content.set(name, bytes.subarray(0, random.below(bytes.length))) }
    case 2: {
      const next = manifestName(manifestsOf(whole).length + 1)
      const copy = folder === 'manifests' ? next : segmentName({ digest: sha256Hex(String(random.next())) })
      return { way: `${folder} doubled`, content: content.set(copy, bytes) }
    }
    case 3:
      content.delete(name)
      return { way: `${folder} renamed`, content: content.set(`${folder}/renamed`, bytes) }
    default:
      content.set(name, whole.get(second) ?? bytes).set(second, bytes)
      return { way: `${folder} exchanged`, content }
  }
}

/** Everything after a manifest is removed: an older archive. */
async function cutTail(whole: ArchiveContent, _other: ArchiveContent, random: Random): Promise<ChangedArchive> {
  const manifests = manifestsOf(whole)
  const kept = manifests.slice(0, 1 + random.below(manifests.length - 1))
  const names = new Set(kept.flatMap(({ number, segments }) => [manifestName(number), ...segments.map(segmentName)]))
  return { way: 'tail cut', content: new Map([...whole].filter(([name]) => names.has(name))) }
}

function manifestsOf(content: ArchiveContent): readonly ArchiveManifest[] {
  const found: ArchiveManifest[] = []
  for (let number = 1; content.has(manifestName(number)); number += 1) {
    const manifest = readArchiveManifest(fromUtf8(content.get(manifestName(number)) ?? new Uint8Array()) ?? '')
    if (manifest === undefined) throw new Error(`manifest ${number} cannot be read`)
    found.push(manifest)
  }
  return found
}

/** Writes manifests with numbers and digests that follow each other, with the segments of the archive. */
function reseal(whole: ArchiveContent, manifests: readonly JsonObject[], isRenumbered: boolean): ArchiveContent {
  const content = new Map([...whole].filter(([name]) => !name.startsWith('manifests/')))
  let previous: string | null = null
  for (const [at, manifest] of manifests.entries()) {
    const sealed = at === 0 ? manifest : { ...manifest, previous }
    const number: JsonObject = isRenumbered ? { number: at + 1 } : {}
    const text = writeArchiveManifest({ ...sealed, ...number } as unknown as ArchiveManifest)
    content.set(manifestName(at + 1), toUtf8(text))
    previous = sha256Hex(text)
  }
  return content
}

const asObjects = (manifests: readonly ArchiveManifest[]): readonly JsonObject[] =>
  manifests.map((manifest) => JSON.parse(writeArchiveManifest(manifest)) as JsonObject)

/** One character or number of one manifest, and the digests after it computed again. */
async function editManifest(whole: ArchiveContent, _other: ArchiveContent, random: Random): Promise<ChangedArchive> {
  const manifests = asObjects(manifestsOf(whole))
  const at = random.below(manifests.length)
  const paths = [...leavesOf(manifests[at] ?? {}, [])]
  const path = paths[random.below(paths.length)] ?? []
  const changed = replaceAt(manifests[at] ?? {}, path, (leaf) => alter(leaf, random)) as JsonObject
  const way = `manifest ${path.filter((each) => typeof each === 'string').join('.')} edited, recomputed`
  return { way, content: reseal(whole, manifests.with(at, changed), false) }
}

/** Segments or manifests left out, doubled or exchanged, or a checkpoint of another run; all digests computed again. */
async function reorderManifest(whole: ArchiveContent, _other: ArchiveContent, random: Random): Promise<ChangedArchive> {
  const manifests = manifestsOf(whole)
  const at = random.below(manifests.length)
  const manifest = manifests[at] as ArchiveManifest
  const put = (way: string, changed: ArchiveManifest): ChangedArchive => ({
    way: `${way}, recomputed`,
    content: reseal(whole, asObjects(manifests.with(at, changed)), true),
  })
  const second = random.below(manifests.length)
  const { segments } = manifest
  const place = random.below(segments.length)
  switch (random.below(6)) {
    case 0:
      return put('segment left out', { ...manifest, segments: segments.toSpliced(place, 1) })
    case 1:
      return put('segment doubled', {
        ...manifest,
        segments: segments.toSpliced(place, 0, segments[place] as ArchiveSegment),
      })
    case 2:
      return put('segments reversed', { ...manifest, segments: segments.toReversed() })
    case 3:
      return put('checkpoint of another run', { ...manifest, checkpoint: manifests[second]?.checkpoint ?? '' })
    case 4: {
      // The last one left out is a tail that was cut, with segments that no manifest names.
      const content = reseal(whole, asObjects(manifests.toSpliced(at, 1)), true)
      return { way: 'manifest left out, recomputed', content }
    }
    default: {
      const swapped = manifests.with(at, manifests[second] as ArchiveManifest).with(second, manifest)
      return { way: 'manifests exchanged, recomputed', content: reseal(whole, asObjects(swapped), true) }
    }
  }
}

/** Entries of a segment changed; the file, its hashes in the tree and all manifests after it computed again. */
async function editEntries(whole: ArchiveContent, _other: ArchiveContent, random: Random): Promise<ChangedArchive> {
  const manifests = manifestsOf(whole)
  const at = random.below(manifests.length)
  const manifest = manifests[at] as ArchiveManifest
  const place = random.below(manifest.segments.length)
  const segment = manifest.segments[place] as ArchiveSegment
  const lines = textOf(whole, segment).split('\n').slice(0, -1)
  const { way, changed } = editLines(lines, random)
  const file = await compress(toUtf8(changed.map((line) => `${line}\n`).join('')))
  const facts = { ...segment, digest: sha256Hex(file), bytes: file.length }
  // With the hashes of the changed entries, or with those that the authority signed.
  const isHashed = random.chance(50)
  const replaced = isHashed ? { ...facts, ...treeOf(segment.first, changed) } : facts
  const content = new Map(whole)
  content.delete(segmentName(segment))
  content.set(segmentName(replaced), file)
  const edited = { ...manifest, segments: manifest.segments.with(place, replaced) }
  return {
    way: `${way}, ${isHashed ? 'tree ' : ''}recomputed`,
    content: reseal(content, asObjects(manifests.with(at, edited)), true),
  }
}

function textOf(content: ArchiveContent, segment: ArchiveSegment): string {
  return fromUtf8(zstdDecompressSync(content.get(segmentName(segment)) ?? new Uint8Array())) ?? ''
}

function editLines(lines: readonly string[], random: Random): { way: string; changed: readonly string[] } {
  const at = random.below(lines.length)
  const line = lines[at] ?? ''
  switch (random.below(6)) {
    case 0:
      return { way: 'entry removed', changed: lines.length === 1 ? [line, line] : lines.toSpliced(at, 1) }
    case 1:
      return { way: 'entry doubled', changed: lines.toSpliced(at, 0, line) }
    case 2:
      return lines.length === 1
        ? { way: 'entry doubled', changed: [line, line] }
        : { way: 'entries reversed', changed: lines.toReversed() }
    case 3:
      return { way: 'entries forged', changed: forgeFrom(lines, at) }
    case 4:
      return { way: 'line end changed', changed: lines.with(at, `${line}\r`) }
    default:
      return { way: 'entry edited', changed: lines.with(at, editLine(line, random)) }
  }
}

function treeOf(first: number, lines: readonly string[]): Pick<ArchiveSegment, 'tree' | 'last'> {
  const range = new TreeRange(first - 1)
  for (const line of lines) {
    const leaf = fromHex(entryOf(readEventLine(line))?.digest ?? '')
    range.addLeaf(hashLeaf(leaf ?? new Uint8Array(32)))
  }
  return { tree: writeHashes(range.hashes), last: range.end }
}

/** Parts of an archive of another network, in place of or after those of this one. */
async function mixArchives(whole: ArchiveContent, other: ArchiveContent, random: Random): Promise<ChangedArchive> {
  const [own, foreign] = [manifestsOf(whole), manifestsOf(other)]
  const at = random.below(Math.min(own.length, foreign.length))
  const guest = foreign[at] as ArchiveManifest
  const host = own[at] as ArchiveManifest
  const both = new Map([...whole, ...[...other].filter(([name]) => name.startsWith('segments/'))])
  const named = random.chance(50) ? { ...guest, network: host.network } : guest
  switch (random.below(5)) {
    case 0:
      return { way: 'whole archive of another network', content: other }
    case 1:
      return { way: 'manifest of another network', content: reseal(both, asObjects(own.with(at, named)), true) }
    case 2:
      return { way: 'manifest of another network added', content: reseal(both, asObjects([...own, named]), true) }
    case 3: {
      const mixed = { ...host, segments: guest.segments }
      return { way: 'segments of another network', content: reseal(both, asObjects(own.with(at, mixed)), true) }
    }
    default: {
      const { checkpoint, log_identity } = guest
      const mixed = { ...host, checkpoint, log_identity }
      return { way: 'checkpoint of another network', content: reseal(whole, asObjects(own.with(at, mixed)), true) }
    }
  }
}
