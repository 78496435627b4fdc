import { Refusal } from '@chancery/contract'
import { DAY, type JsonObject, writeInstant, writeSortable } from '@chancery/protocol'
import { countEventsOf } from '../../audit/key-activity.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import type { OperatorKeysParts } from './parts.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { countActiveRules } from '../admission/index.ts'
import { countOpenInvites } from '../enrollment/index.ts'

const DEFAULT_DAYS = 30
const MAX_DAYS = 3650
/**
 * Older events, or more events than the limit, are not read. The response then states from when on events were read.
 */
const CHECK_MS = 4000

/**
 * GET /admin/operator-keys/{key_id}/activity
 * Returns the audit events of a key, before or after its revocation, for the operator who must undo its changes. Forged
 * calls that only name the key are left out.
 */
export async function activity(call: OperatorCall, parts: OperatorKeysParts): Promise<JsonObject> {
  const days = readDays(call.query.first('days'))
  const key_id = call.params['key_id'] ?? ''
  const db = parts.database.read
  const configured = parts.operators.get(key_id)
  const isRevoked = checkRevoked(await listRevokedKeys(db))({ key_id, publicKey: configured?.publicKey ?? '' })
  if (!isRevoked && configured === undefined) throw new Refusal('unknown_operator_key')
  const now = parts.clock.now()
  const asked = writeSortable(now - BigInt(days) * DAY)
  const endMs = parts.clock.monotonicMs() + CHECK_MS
  const hasTime = (): boolean => parts.clock.monotonicMs() < endMs
  const { events, cut } = await countEventsOf(parts.database, { key_id, since: asked, hasTime })
  return {
    key_id,
    revoked: isRevoked,
    from: toWireTime(cut ?? asked),
    until: writeInstant(now),
    complete: cut === undefined,
    events: events.map(({ event_type, count, first_at, last_at }) => ({
      event_type,
      count,
      first_at: toWireTime(first_at),
      last_at: toWireTime(last_at),
    })),
    open_invites: await countOpenInvites(db, { by: 'maker', created_by: key_id }, writeSortable(now)),
    active_rules: await countActiveRules(db, key_id),
  }
}

function readDays(text: string | undefined): number {
  if (text === undefined) return DEFAULT_DAYS
  const days = /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > MAX_DAYS) throw new Refusal('invalid_input', { field: 'days' })
  return days
}
