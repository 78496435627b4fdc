import { FormError, readReceived, retentionCheckpointForm } from '@chancery/protocol'
import type { ArchiveTrust, RetentionCheckpoint } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import type { Connection } from '../../../connection/connection.ts'
import { fetchCheckpoint, findLogTrust, treeOf } from '../log-reading.ts'
import type { ArchiveSource } from './write.ts'

/** The store of a running authority, as the source of an archive. */
export async function openSource(
  connection: Connection,
): Promise<{ readonly source: ArchiveSource; readonly trust: ArchiveTrust; readonly size: number }> {
  const { identity, keys } = await findLogTrust(connection)
  const { note, size } = await fetchCheckpoint(connection)
  const { genesis, followed } = connection
  const client = connection.client()
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
