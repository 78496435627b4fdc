import { LIMITS, Refusal, WINDOW_SECONDS, operatorKeys } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type OperatorKeysParts, revoke } from './revoke.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { DAY, type JsonObject, writeInstant, writeSortable } from '@chancery/protocol'
import { type KeyLimit, keyLimitBucket, readUses } from '../../auth/callers.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { countEventsOf } from '../../audit/key-activity.ts'
import { checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { countActiveRules } from '../admission/index.ts'
import { countOpenInvites } from '../enrollment/index.ts'

/**
 * GET /admin/whoami
 * Returns the calling key with its tier, what is left of its limits, and the settings that operators work with.
 */
async function whoami(call: OperatorCall, parts: OperatorKeysParts): Promise<JsonObject> {
  const { activeWindow, settings, network, clock } = parts
  const { key_id, publicKey, tier } = call.operator
  return {
    key_id,
    public_key: publicKey,
    tier,
    network: network.name,
    server_time: writeInstant(clock.now()),
    limits: {
      operator_read: await limitOf(parts, 'operator_read', keyLimitBucket('operator_read', key_id), 'operator key'),
      operator_decision: await limitOf(
        parts,
        'operator_decision',
        keyLimitBucket('operator_decision', key_id),
        'operator key',
      ),
      admin: await limitOf(parts, 'admin', `admin ${call.limitKey}`, 'address'),
      revocation: await limitOf(parts, 'revocation', keyLimitBucket('revocation', key_id), 'operator key'),
    },
    allowed_roles: [...settings.allowedRoles],
    heartbeat_seconds: settings.heartbeatSeconds,
    silent_after_seconds: activeWindow.seconds,
    renewal_grace_seconds: settings.renewalGraceSeconds,
    console_key_idle_minutes: LIMITS.consoleKeyIdleMinutes,
    // A release had a setting for it.
    passkeys: true,
  }
}

async function limitOf(
  { limits }: OperatorKeysParts,
  name: KeyLimit | 'admin',
  bucket: string,
  counted_by: string,
): Promise<JsonObject> {
  const limit = limits.perMinute[name]
  const left = Math.max(0, limit - (await limits.shared.used(bucket)))
  return { limit, left, window_seconds: WINDOW_SECONDS, counted_by }
}

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
async function activity(call: OperatorCall, parts: OperatorKeysParts): Promise<JsonObject> {
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

/**
 * GET /admin/operator-keys
 * Lists the keys that are configured or were revoked, by id. A revoked key that is no longer configured has no tier.
 */
async function list(call: OperatorCall, parts: OperatorKeysParts): Promise<JsonObject> {
  const { database, operators } = parts
  const [rows, uses] = [await listRevokedKeys(database.read), await readUses(database.read)]
  const revoked = new Map(rows.map((row) => [row.key_id, row]))
  const revokedKeys = new Map(rows.map((row) => [row.public_key, row]))
  const ids = [...new Set([...operators.keys(), ...revoked.keys()])].sort()
  const operator_keys = ids.map((key_id): JsonObject => {
    const key = operators.get(key_id)
    // A public key that was revoked under another id is refused, too.
    const revocation = revoked.get(key_id) ?? (key === undefined ? undefined : revokedKeys.get(key.publicKey))
    return {
      key_id,
      public_key: key?.publicKey ?? null,
      tier: key?.tier ?? null,
      usable: key !== undefined && revocation === undefined,
      revoked_at: toWireTime(revocation?.revoked_at ?? null),
      reason: revocation?.reason ?? null,
      revoked_by: revocation?.revoked_by ?? null,
      last_used: uses.get(key_id) ?? null,
    }
  })
  return { count: operator_keys.length, operator_keys }
}

export function openOperatorKeys(parts: OperatorKeysParts): Feature {
  return {
    routes: [
      bind(operatorKeys.revoke, (call) => revoke(call, forRevocations(parts))),
      bind(operatorKeys.activity, (call) => activity(call, parts)),
      bind(operatorKeys.list, (call) => list(call, parts)),
      bind(operatorKeys.whoami, (call) => whoami(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
