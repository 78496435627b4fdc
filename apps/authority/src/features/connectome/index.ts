import type { Office } from '../../office.ts'
import type { LostPaths } from './lost-paths.ts'

export type { TreatySummary } from './treaty-table.ts'

/** Who recognises this sovereign now, as far as this authority knows. */
export async function acceptedBy(office: Office, sovereign: string): Promise<readonly string[]> {
  return (await office.connectome.current(office)).acceptedBy(sovereign)
}

/** What ending a treaty would cut off. */
export async function foreseeTreatyLoss(office: Office, treaty_id: string): Promise<LostPaths> {
  return (await office.connectome.current(office)).lostPaths(treaty_id)
}
