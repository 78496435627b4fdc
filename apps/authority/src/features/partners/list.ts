import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { readPage, writeCursor } from '../../requests/paging.ts'
import { STATES, stateOf } from './partner-state.ts'
import { type OwnTreaty, type PartnerRow, listOwnTreaties, listPartners } from './queries/partners.ts'
import type { PartnersState } from './alarms.ts'
import { listedPartner } from './view.ts'

/**
 * GET /admin/partners
 * Lists partners by name.
 */
export async function list(call: OperatorCall, parts: PartnersState): Promise<JsonObject> {
  const state = call.query.first('state')
  if (state !== undefined && !STATES.some((each) => each === state))
    throw new Refusal('invalid_input', { field: 'state' })
  const page = readPage(call.query)
  const now = parts.clock.now()
  const isAsked = (row: PartnerRow): boolean => state === undefined || stateOf(row, now) === state
  const found: PartnerRow[] = []
  let after = page.after
  // The state depends on the time, so it is computed and not a column.
  for (;;) {
    const rows = await listPartners(parts.database.read, { limit: page.limit + 1, after })
    found.push(...rows.filter(isAsked))
    after = rows.at(-1)?.sovereign_id
    if (found.length > page.limit || rows.length <= page.limit) break
  }
  const shown = found.slice(0, page.limit)
  const last = found.length > page.limit ? shown.at(-1) : undefined
  const treaties = Map.groupBy(
    await listOwnTreaties(parts.database.read, parts.network.name, now),
    (treaty: OwnTreaty) => treaty.subject_sovereign_id,
  )
  const imported = await parts.revocationFeeds.listImported()
  return {
    count: shown.length,
    partners: shown.map((row) =>
      listedPartner(row, treaties.get(row.sovereign_id) ?? [], imported.get(row.sovereign_id) ?? null, now),
    ),
    ...(page.asked || last !== undefined
      ? { next_cursor: last === undefined ? null : writeCursor(last.sovereign_id) }
      : {}),
  }
}
