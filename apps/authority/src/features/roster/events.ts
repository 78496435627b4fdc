import { Refusal } from '@chancery/contract'
import { type JsonObject, isJsonObject, readJson } from '@chancery/protocol'
import { redactEvent } from '../../audit/redact.ts'
import { type EventPosition, listEventsOf } from '../../audit/subjects.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readPage, writeCursor } from '../../requests/paging.ts'
import { readNodeKey } from './find.ts'
import type { RosterParts } from './parts.ts'
import { findInviteOf, listCertificatesOf } from './queries/one-node.ts'

const DEFAULT_ROWS = 50

/**
 * GET /admin/nodes/{node_public_key}/events
 * Returns audit events that name the key, one of its newest certificates or its invite, newest first.
 */
export async function events(call: OperatorCall, parts: RosterParts): Promise<JsonObject> {
  const key = readNodeKey(call)
  const page = readPage(call.query)
  const limit = call.query.first('limit') === undefined ? DEFAULT_ROWS : page.limit
  const before = readPlace(page.after)
  const db = parts.database.read
  const { certificates } = await listCertificatesOf(db, key)
  if (certificates.length === 0) throw new Refusal('node_not_found')
  const invite = await findInviteOf(db, key)
  const ids = certificates.map(({ cert_id }) => cert_id)
  const subjects = [key, ...ids, ...(invite === undefined ? [] : [invite.fingerprint])]
  const found = await listEventsOf(db, subjects, { before, limit: limit + 1 })
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  return {
    count: shown.length,
    events: shown.map(({ event_json }) => {
      const event = readJson(event_json)
      return isJsonObject(event) ? redactEvent(event) : {}
    }),
    next_cursor: last === undefined ? null : writeCursor(`${last.created_at}|${last.event_id}`),
  }
}

function readPlace(text: string | undefined): EventPosition | undefined {
  if (text === undefined) return undefined
  const [, created_at, event_id] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\|([0-9A-Za-z-]{1,64})$/.exec(text) ?? []
  if (created_at === undefined || event_id === undefined) throw new Refusal('invalid_page')
  return { created_at, event_id }
}
