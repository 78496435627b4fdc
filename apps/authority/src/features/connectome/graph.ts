import type { Call, KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /recognition-graph
 * Who recognises whom: the view every other one derives from, and no source of trust itself.
 */
export async function graph(_call: Call, office: Office): Promise<KeptDocument> {
  return (await office.connectome.current(office)).document('graph')
}
