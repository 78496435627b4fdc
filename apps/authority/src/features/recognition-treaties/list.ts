import { writeJson } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { RecognitionTreatiesParts } from './parts.ts'
import { pageMembers, readPage } from '../../requests/paging.ts'
import { countTreaties, listTreaties } from './queries.ts'
import { readTreatyList, readTreatyPosition, writeTreatyPosition } from './requests.ts'
import { rowText } from './view.ts'

/**
 * GET /recognition-treaties
 * Returns stored treaties, oldest first or by their end.
 */
export async function list(call: Call, parts: RecognitionTreatiesParts): Promise<HttpResponse> {
  const { query } = call
  const { sort, lifecycle, prefix } = readTreatyList(query)
  const now = parts.clock.now()
  const filter = {
    issuer_sovereign_id: query.first('issuer_sovereign_id'),
    subject_sovereign_id: query.first('subject_sovereign_id'),
    status: query.first('status'),
    lifecycle,
    prefix,
    now,
  }
  const page = readPage(query)
  const after = readTreatyPosition(page, sort)
  const rows = await listTreaties(parts.database, filter, { limit: page.limit + 1, offset: page.offset, sort, after })
  const shown = rows.slice(0, page.limit)
  const end = rows.length > page.limit ? shown.at(-1) : undefined
  const last = end === undefined ? undefined : writeTreatyPosition(sort, { at: end[sort], id: end.treaty_id })
  const paging = writeJson(
    await pageMembers(page, shown.length, last, (bound) => countTreaties(parts.database, filter, bound)),
  )
  const more = paging === '{}' ? '' : `,${paging.slice(1, -1)}`
  return jsonText(
    `{"count":${shown.length},"recognition_treaties":[${shown.map((row) => rowText(row, now)).join(',')}]${more}}`,
  )
}
