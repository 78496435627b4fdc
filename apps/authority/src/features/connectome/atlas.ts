import type { Call, KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /atlas.json
 * The map and the digest of the graph it was drawn from.
 */
export async function atlas(_call: Call, office: Office): Promise<KeptDocument> {
  return (await office.connectome.current(office)).document('atlas')
}
