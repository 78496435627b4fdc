import type { Call, KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /connectome.json
 * The graph in reading order, counted, with what each imported revocation touches; `view=edges` gives its edges only,
 * as columns, for maps of large graphs.
 */
export async function summary(call: Call, office: Office): Promise<KeptDocument> {
  return (await office.connectome.current(office)).document(
    call.query.first('view') === 'edges' ? 'edges' : 'connectome',
  )
}
