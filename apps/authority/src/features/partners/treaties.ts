import { writeJson } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { readPage, writeCursor } from '../../requests/paging.ts'
import { requirePartner } from './find.ts'
import { listReportedTexts } from './queries/reported.ts'
import type { PartnersState } from './state.ts'

/**
 * GET /admin/partners/{sovereign_id}/treaties
 * Returns the treaties that a partner reports as active. They decide nothing here.
 */
export async function treaties(call: OperatorCall, parts: PartnersState): Promise<HttpResponse> {
  const page = readPage(call.query)
  const { sovereign_id, treaties_as_of } = await requirePartner(parts.database.read, call)
  const rows = await listReportedTexts(parts.database.read, sovereign_id, { limit: page.limit + 1, after: page.after })
  const shown = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? shown.at(-1) : undefined
  const as_of = writeJson(toWireTime(treaties_as_of))
  const listed = shown.map(({ treaty_json }) => `{"treaty":${treaty_json},"as_of":${as_of}}`).join(',')
  const next = last === undefined ? 'null' : writeJson(writeCursor(last.treaty_id))
  const paging = page.asked || last !== undefined ? `,"next_cursor":${next}` : ''
  return jsonText(`{"count":${shown.length},"treaties":[${listed}]${paging}}`)
}
