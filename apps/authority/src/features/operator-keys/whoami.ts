import { LIMITS, WINDOW_SECONDS } from '@chancery/contract'
import { type JsonObject, writeInstant } from '@chancery/protocol'

import { type KeyLimit, keyLimitBucket } from '../../auth/key-limits.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { OperatorKeysParts } from './parts.ts'

/**
 * GET /admin/whoami
 * Returns the calling key with its tier, what is left of its limits, and the settings that operators work with.
 */
export async function whoami(call: OperatorCall, parts: OperatorKeysParts): Promise<JsonObject> {
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
    passkeys: settings.passkeys,
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
