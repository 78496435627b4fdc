import { writeJson } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { HttpResponse, Call } from '@chancery/service-kit'
import type { RecognitionTreatiesParts } from './parts.ts'
import { readIssuePosition, writeIssuePosition } from '../../requests/list-position.ts'
import { pageMembers, readPage } from '../../requests/paging.ts'
import { countTreaties, listTreaties } from './queries.ts'
import { rowText } from './view.ts'

/**
 * GET /recognition-treaties
 * Returns every stored treaty, oldest first.
 */
export async function list(call: Call, parts: RecognitionTreatiesParts): Promise<HttpResponse> {
  const { query } = call
  const filter = {
    issuer_sovereign_id: query.first('issuer_sovereign_id'),
    subject_sovereign_id: query.first('subject_sovereign_id'),
    status: query.first('status'),
  }
  const page = readPage(query)
  const db = parts.database.read
  const rows = await listTreaties(parts.database, filter, {
    limit: page.limit + 1,
    offset: page.offset,
    after: readIssuePosition(page),
  })
  const shown = rows.slice(0, page.limit)
  const end = rows.length > page.limit ? shown.at(-1) : undefined
  const last = end === undefined ? undefined : writeIssuePosition({ issued_at: end.issued_at, id: end.treaty_id })
  const paging = writeJson(await pageMembers(page, shown.length, last, (bound) => countTreaties(db, filter, bound)))
  const more = paging === '{}' ? '' : `,${paging.slice(1, -1)}`
  const now = parts.clock.now()
  return jsonText(
    `{"count":${shown.length},"recognition_treaties":[${shown.map((row) => rowText(row, now)).join(',')}]${more}}`,
  )
}
