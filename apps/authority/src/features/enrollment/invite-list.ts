import { Refusal, enrollment } from '@chancery/contract'
import { type JsonObject, readJson, writeSortable } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EnrollmentParts } from './present.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import { readList, readPage } from '../../requests/paging.ts'
import { FINGERPRINT_CHARACTERS, INVITE_STATES, inviteList, stateOf } from './queries/invite-rows.ts'
import type { InviteFilter, InviteRow, InviteState } from './queries/invite-rows.ts'

/**
 * GET /admin/invites
 * Lists invites with their maker and state. A token cannot be shown again; its fingerprint identifies it.
 */
export async function listInvites(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  const filter = readFilter(call.query, writeSortable(parts.clock.now()))
  const db = parts.database.read
  const { rows, paging } = await readList(db, readPage(call.query), inviteList(db, filter))
  return { count: rows.length, invites: rows.map((row) => viewOf(row, filter.now)), ...paging }
}

function readFilter(query: Query, now: string): InviteFilter {
  const state = query.first('state') ?? 'open'
  if (!isState(state)) throw new Refusal('invalid_input', { field: 'state' })
  const read = (name: 'created_by' | 'batch_id'): string | undefined => {
    const given = query.first(name)
    return given === undefined
      ? undefined
      : readOrRefuse('invalid_input', () => enrollment.inviteList.query[name](given, name))
  }
  return { state, created_by: read('created_by'), batch_id: read('batch_id'), now }
}

function isState(text: string): text is InviteState {
  return INVITE_STATES.some((state) => state === text)
}

function viewOf(row: InviteRow, now: string): JsonObject {
  const state = stateOf(row, now)
  return {
    token_fingerprint: row.token_digest.slice(0, FINGERPRINT_CHARACTERS),
    state,
    roles: readJson(row.assigned_roles_json),
    max_validity_hours: row.max_validity_hours,
    recipient_public_key: row.recipient_public_key,
    created_at: toWireTime(row.created_at),
    created_by: row.created_by,
    batch_id: row.batch_id,
    expires_at: toWireTime(row.expires_at),
    // A withdrawn invite is stored as spent, although no node joined with it.
    used_at: state === 'used' ? toWireTime(row.used_at) : null,
    used_by_key: row.used_by_key,
    withdrawn_at: toWireTime(row.withdrawn_at),
    withdrawn_by: row.withdrawn_by,
  }
}
