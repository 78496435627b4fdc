import type { TrustPath } from '@chancery/protocol'
import type { Office } from '../../office.ts'

/** The path between two sovereigns, each treaty of it verified. */
export function findVerifiedPath(office: Office, from: string, to: string): Promise<TrustPath> {
  return office.connectome.ask(
    office,
    (graph) => graph.trustPath(from, to),
    ({ path }) => path.map((edge) => edge.treaty_id),
  )
}
