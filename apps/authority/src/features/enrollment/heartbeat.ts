import { randomInt } from 'node:crypto'
import { type JsonObject, writeInstant } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { authenticateNode, countNodeKey, refuseNode } from '../../auth/node.ts'
import type { EnrollmentState } from './state.ts'
import type { EnrollmentParts } from './parts.ts'
import { rejectCertificate, whyUnusable } from './certificate-state.ts'
import { readHeartbeatRequest } from './requests.ts'

/**
 * POST /heartbeat
 * Responds after the liveness is committed, or with NA_HEARTBEAT_MODE=gathered up to a second before. The response has
 * the heartbeat interval and the current list versions.
 */
export async function heartbeat(call: Call, parts: EnrollmentState): Promise<JsonObject> {
  const { cert_id, node_public_key, status, genesis_digest } = readHeartbeatRequest(call.body)
  const proof = await authenticateNode(call, parts, 'heartbeat')
  await countNodeKey(parts, node_public_key)
  const outcome = await parts.batches.recordHeartbeat({
    cert_id,
    node_public_key,
    proof,
    heartbeat_status: status,
    remote_addr: call.remoteAddress,
    genesis_digest,
  })
  const now = parts.clock.now()
  if (!outcome.recorded) {
    const reason = whyUnusable(outcome.certificate, node_public_key, outcome.judgedAt)
    if (reason !== undefined) return rejectCertificate(call, parts, 'heartbeat_rejected', cert_id, reason)
    return refuseNode(call, parts, 'heartbeat', 'nonce_replay', proof.nonce)
  }
  const { crl_sequence, policy_id } = outcome.notices
  return {
    ack: true,
    server_time: writeInstant(now),
    next_heartbeat_seconds: nextHeartbeatSeconds(parts),
    crl_sequence,
    policy_id,
    ...(genesis_digest === null ? {} : await reportBlock(parts)),
  }
}

/** Returned to nodes that send their block, if there was or is a succession. */
async function reportBlock(parts: EnrollmentParts): Promise<JsonObject> {
  const digest = await parts.newestBlock.digest()
  return digest === undefined ? {} : { genesis_digest: digest }
}

/** Varied by a tenth, so that nodes that started together do not send together. */
function nextHeartbeatSeconds({ batches }: EnrollmentState): number {
  const pace = batches.pace.seconds
  const spread = Math.floor(pace / 10)
  return spread === 0 ? pace : randomInt(pace - spread, pace + spread + 1)
}
