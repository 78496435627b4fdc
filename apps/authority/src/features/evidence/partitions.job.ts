import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { withLease } from '../../database/locks/leases.ts'
import { findPartitionWork } from '../../database/partitions/keep-partitions.ts'

const LEASE_SECONDS = 300

/** Partitions the table of an earlier release while instances serve, and makes the next partition ahead. */
export async function keepPartitions(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  const { last_sequence } = await readEvidenceHead(parts.database.read)
  const work = await findPartitionWork(parts.database, last_sequence)
  if (work === undefined) return
  await withLease(parts, 'evidence-partitions', LEASE_SECONDS, async () => {
    if (work.kind === 'upkeep') return work.run()
    parts.log.info('evidence entries are being partitioned; requests are served')
    if (await work.run(signal)) parts.log.info('evidence entries are partitioned')
    else
      parts.log.warn(
        'evidence entries are not partitioned yet: a long transaction uses the table; tried again in a minute',
      )
  })
}
