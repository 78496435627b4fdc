import { Refusal } from '@chancery/contract'
import { type JsonObject, readJson, readPublicKey } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { momentOf } from './node-state.ts'
import type { RosterParts } from './parts.ts'
import { findAgentText, findInviteOf, listCertificatesOf } from './queries/one-node.ts'
import { readNodes, viewNode } from './queries/rows.ts'

/**
 * GET /admin/nodes/{node_public_key}
 * Returns one node key with its certificates, agent and invite.
 */
export async function find(call: OperatorCall, parts: RosterParts): Promise<JsonObject> {
  const key = readNodeKey(call)
  const { activeWindow, database, clock } = parts
  const moment = momentOf(clock.now(), activeWindow.seconds)
  const node = (await readNodes(database, [key], moment)).get(key)
  if (node === undefined) throw new Refusal('node_not_found')
  const { certificates, more } = await listCertificatesOf(database.read, key)
  const [invite, agent] = [await findInviteOf(database.read, key), await findAgentText(database.read, key, moment.now)]
  return {
    ...viewNode(node),
    certificates: certificates.map((row) => ({
      cert_id: row.cert_id,
      issued_at: toWireTime(row.issued_at),
      expires_at: toWireTime(row.expires_at),
      renewed_from: row.renewed_from,
      superseded_at: toWireTime(row.revoke_after),
      revoked_at: toWireTime(row.revoked_at),
      revocation_reason: row.revocation_reason,
      certificate: readJson(row.cert_json),
    })),
    more_certificates: more,
    agent: agent === undefined ? null : readJson(agent),
    invite:
      invite === undefined
        ? null
        : {
            token_fingerprint: invite.fingerprint,
            roles: readJson(invite.assigned_roles_json),
            max_validity_hours: invite.max_validity_hours,
            recipient_public_key: invite.recipient_public_key,
            created_at: toWireTime(invite.created_at),
            created_by: invite.created_by,
            expires_at: toWireTime(invite.expires_at),
            used_at: toWireTime(invite.used_at),
          },
  }
}

/** A public key as base64url without padding: slashes have a meaning in paths. */
export function readNodeKey(call: Pick<Call, 'params'>): string {
  const text = call.params['node_public_key'] ?? ''
  if (!/^[A-Za-z0-9_-]{43}$/.test(text)) throw new Refusal('invalid_public_key')
  const key = `${text.replaceAll('-', '+').replaceAll('_', '/')}=`
  if (readPublicKey(key) === undefined) throw new Refusal('invalid_public_key')
  return key
}
