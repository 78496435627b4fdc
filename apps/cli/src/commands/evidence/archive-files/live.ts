import { type ArchiveEnd, type StoreComparison, compareWithStore } from '@chancery/protocol'
import type { Connection } from '../../../connection/connection.ts'
import { fetchCheckpoint, treeOf } from '../log-reading.ts'

/** Compares a verified archive with the store of the running authority. */
export async function compareWithLiving(connection: Connection, archive: ArchiveEnd): Promise<StoreComparison> {
  const checkpoint = await fetchCheckpoint(connection)
  return connection.ask(async (client) => {
    const lines = await client.evidence.lines(archive.last - 1, 2)
    const { last_store_sequence: last } = await client.evidence.status()
    const lastSequence = last ?? 0
    return compareWithStore(archive, { checkpoint, read: treeOf(client, checkpoint.size), lines, lastSequence })
  })
}
