import type { JsonObject } from '@chancery/protocol'
import type { Call, KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { readMaterialPage } from './material-pages.ts'

/**
 * GET /connectome.json
 * The graph in reading order, counted, with what each imported revocation touches. It carries at most 10,000 rows of
 * revoked material; `view=revoked` gives all of them in pages. `view=edges` gives its edges only, as columns, for maps of
 * large graphs.
 */
export async function summary(call: Call, office: Office): Promise<KeptDocument | JsonObject> {
  const view = call.query.first('view')
  const asked = view === 'revoked' ? readMaterialPage(call.query) : undefined
  const graph = await office.connectome.current(office)
  if (asked !== undefined) return graph.materialPage(asked)
  return graph.document(view === 'edges' ? 'edges' : 'connectome')
}
