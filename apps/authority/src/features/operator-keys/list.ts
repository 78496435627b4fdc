import type { JsonObject } from '@chancery/protocol'
import { readUses } from '../../auth/key-use.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { listRevokedKeys } from '../../auth/operator-keys.ts'
import { toWireTime } from '../../requests/list-position.ts'
import type { OperatorKeysParts } from './parts.ts'

/**
 * GET /admin/operator-keys
 * Lists the keys that are configured or were revoked, by id. A revoked key that is no longer configured has no tier.
 */
export async function list(call: OperatorCall, parts: OperatorKeysParts): Promise<JsonObject> {
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
