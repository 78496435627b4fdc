import type { Office } from '../../office.ts'
import type { GroundedFinding } from './builder.ts'
import type { LostPaths } from '@chancery/protocol'
import type { AskedTrust } from './views.ts'

export { lifecycleTone } from './lifecycle-tone.ts'
export type { TreatyRow, TreatySummary } from './treaty-table.ts'

/** Who recognises this sovereign now, as far as this authority knows. */
export async function acceptedBy(office: Office, sovereign: string): Promise<readonly string[]> {
  return (await office.connectome.current(office)).acceptedBy(sovereign)
}

/** What ending a treaty would cut off. */
export async function foreseeTreatyLoss(office: Office, treaty_id: string): Promise<LostPaths> {
  return (await office.connectome.current(office)).lostPaths(treaty_id)
}

/** H(C(g)) of the recognition graph as it stands now (protocol/trust-operations 2.2). */
export async function graphDigest(office: Office): Promise<string> {
  return (await office.connectome.current(office)).digest()
}

/** What the recognition graph says about a sovereign now, and the digest of that very graph. */
export async function findTrustNow(office: Office, asked: AskedTrust): Promise<Omit<GroundedFinding, 'treaty_ids'>> {
  const { finding, graph_digest } = await office.connectome.ask(
    office,
    (graph) => graph.trustFinding(asked),
    (found) => found.treaty_ids,
  )
  return { finding, graph_digest }
}
