import type { Log } from '@chancery/service-kit'
import type { LeaseParts } from '../database/locks/leases.ts'
import { AUDIT } from '../database/partitions/audit-partitions.ts'
import { keepPartitions } from '../database/partitions/keep-partitions.ts'
import type { PartitionSet } from '../database/partitions/partition-set.ts'
import { isSubjectIndexComplete } from './index-subjects.job.ts'

/**
 * Partitions the tables when they are large, while instances serve, and makes the next partitions ahead. Not before all
 * old events have their subjects: their unique index would not see the other partitions.
 */
export async function keepAuditPartitions(
  parts: LeaseParts & { readonly log: Log },
  signal: AbortSignal,
  set: PartitionSet = AUDIT,
): Promise<void> {
  if (parts.database.engine === 'postgres' && (await isSubjectIndexComplete(parts.database.read)))
    await keepPartitions(parts, set, signal)
}
