import { ArchiveChain, fromUtf8, manifestName, segmentName } from '@chancery/protocol'
import type { ArchiveTrust, ManifestRefusal, SegmentRefusal, StoreDifference } from '@chancery/protocol'
import { CommandError } from '../../../errors/failure.ts'
import type { ArchiveFiles } from './files.ts'

/** Far more than the boundary of 50,000 resources and the segments of one run need. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024
const MANIFEST = /^manifests\/(\d{8})\.json$/

/** One broken rule, and the file where it was found. */
export type ArchiveFinding = {
  readonly file: string
  readonly reason: ManifestRefusal | SegmentRefusal | StoreDifference | 'manifest_missing' | 'archive_incomplete'
}

export interface OpenArchive {
  readonly chain: ArchiveChain
  /** Why the manifests after those of the chain were not read. */
  readonly finding: ArchiveFinding | undefined
  /** Files that no manifest names: of an interrupted run, or of another source. */
  readonly otherFiles: readonly string[]
}

/** Reads and checks all manifests, from the first one on. Segments are not read. */
export async function openArchive(files: ArchiveFiles, trust: ArchiveTrust): Promise<OpenArchive> {
  const names = await files.list()
  // Not as arguments of one call: a folder may have any number of files.
  const last = names.reduce((most, name) => Math.max(most, Number(MANIFEST.exec(name)?.[1] ?? 0)), 0)
  const chain = new ArchiveChain(trust)
  let finding: ArchiveFinding | undefined
  for (let number = 1; number <= last && finding === undefined; number += 1) {
    const file = manifestName(number)
    const content = await files.read(file, MAX_MANIFEST_BYTES)
    const reason = content === undefined ? 'manifest_missing' : await chain.add(fromUtf8(content) ?? '')
    if (reason !== undefined) finding = { file, reason }
  }
  const known = new Set(chain.segments.map(segmentName))
  for (let number = 1; number <= chain.number; number += 1) known.add(manifestName(number))
  return { chain, finding, otherFiles: names.filter((name) => !known.has(name) && name !== finding?.file) }
}

/** Opens an archive to use its entries or to add to it: every manifest must be valid. */
export async function openValidArchive(files: ArchiveFiles, trust: ArchiveTrust, name: string): Promise<ArchiveChain> {
  const { chain, finding } = await openArchive(files, trust)
  if (finding !== undefined) throw brokenArchive(name, finding)
  return chain
}

export function brokenArchive(name: string, { file, reason }: ArchiveFinding): CommandError {
  return new CommandError({
    code: 'invalid_archive',
    message: `${name} is not a valid archive: ${file} (${reason}).`,
    hint: `See: chancery evidence verify ${name}`,
  })
}
