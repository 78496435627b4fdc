import type { EvidenceParts } from './store-verifier.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { keepPartitions } from '../../database/partitions/keep-partitions.ts'

/** Partitions the table when it is large, while instances serve, and makes the next partition ahead. */
export async function keepEvidencePartitions(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  await keepPartitions(parts, EVIDENCE, signal)
}
