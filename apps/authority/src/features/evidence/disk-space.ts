import { Refusal } from '@chancery/contract'
import type { EvidenceParts } from './parts.ts'

/** Callers cause decisions and evidence in any number, so these end first on a disk that fills up. */
export async function refuseWithoutRoom({ database }: Pick<EvidenceParts, 'database'>): Promise<void> {
  const reason = await database.room.refusesGrowth()
  if (reason !== undefined) throw new Refusal('disk_space_low', { reason })
}
