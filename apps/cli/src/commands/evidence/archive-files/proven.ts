import { type ArchiveChain, segmentName } from '@chancery/protocol'
import type { Connection } from '../../../connection/connection.ts'
import { CommandError } from '../../../errors/failure.ts'
import type { ArchiveFiles } from './files.ts'
import { compareWithLiving } from './live.ts'
import { brokenArchive } from './read.ts'
import { readProvenSegment } from './segment.ts'

/**
 * The last entry of an archive that has every entry of the living store up to it. Segments are read from the first
 * living entry on: what was removed before is not removed again.
 */
export async function findProvenEnd(
  connection: Connection,
  files: ArchiveFiles,
  chain: ArchiveChain,
  name: string,
): Promise<number> {
  const { retention_checkpoint: removed } = await connection.ask((client) => client.evidence.status())
  const removedThrough = removed ?? 0
  let head: string | undefined
  for (const segment of chain.segments) {
    if (segment.last <= removedThrough && segment.last !== chain.last) continue
    const proven = await readProvenSegment(files, segment, () => false)
    if (typeof proven === 'string') throw brokenArchive(name, { file: segmentName(segment), reason: proven })
    head = proven.head
  }
  if (head === undefined || chain.checkpoint === undefined)
    throw brokenArchive(name, { file: 'manifests', reason: 'manifest_missing' })
  const end = { last: chain.last, head, checkpoint: chain.checkpoint }
  const { difference } = await compareWithLiving(connection, end)
  if (difference === undefined && chain.first <= removedThrough + 1) return chain.last
  throw new CommandError({
    code: 'archive_differs',
    message: `${name} does not have the entries of the store (${difference ?? 'entries_missing'}). Nothing was removed.`,
    hint: 'Archive the store first: chancery evidence archive --to <folder>',
  })
}
