import type { Call, KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /connectome.json
 * The graph in reading order, counted, with what each imported revocation touches.
 */
export async function summary(_call: Call, office: Office): Promise<KeptDocument> {
  return (await office.connectome.current(office)).document('connectome')
}
