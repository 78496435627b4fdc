import { MINUTE, canonicalJson, readInstant, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { type RosterRow, activeMoment, listActiveNodes } from './queries/certificates.ts'
import type { EnrollmentBatches } from './batches.ts'
import { type EnrollmentParts, rejectCertificate, whyUnusable } from './present.ts'
import { isLargeTable } from '../../database/large-tables.ts'
import { storePace } from '../../database/migrate.ts'
import { randomInt } from 'node:crypto'
import { authenticateNode, countNodeKey, refuseNode } from '../../auth/node.ts'
import { readHeartbeatRequest } from './requests.ts'

/** The parts of the feature and its own state. */
export interface EnrollmentState extends EnrollmentParts {
  /** Queued joins and heartbeats share a transaction. */
  readonly batches: EnrollmentBatches
}

const PAGE = 1000

/**
 * GET /nodes
 * Returns the number of active nodes to unauthenticated callers, and the list to a verified operator. A node counts
 * once, whatever its number of certificates. Invalid headers are refused before.
 */
export async function nodes(call: Call | OperatorCall, parts: EnrollmentState): Promise<JsonObject | HttpResponse> {
  if (!('operator' in call)) return { count: await parts.batches.count.read() }
  const entries: string[] = []
  const keys = new Set<string>()
  // Read and serialised in pages, so that a large roster is never in memory as a whole and does not block the event
  // loop.
  for (let after = ''; ;) {
    const rows = await listActiveNodes(parts.database.read, activeMoment(parts), after, PAGE)
    for (const row of rows) keys.add(row.node_public_key)
    for (const row of rows) entries.push(`${canonicalJson(row.cert_id)}:${writeJson(toEntry(row))}`)
    after = rows.at(-1)?.cert_id ?? after
    if (rows.length < PAGE) return jsonText(`{"count":${keys.size},"nodes":{${entries.join(',')}}}`)
  }
}

function toEntry(row: RosterRow): JsonValue {
  const time = (text: string): string => writeInstant(readInstant(text) ?? 0n)
  return {
    node_public_key: row.node_public_key,
    roles: JSON.parse(row.roles_json) as string[],
    status: row.heartbeat_status,
    last_heartbeat: time(row.last_heartbeat),
    remote_addr: row.remote_addr,
    expires_at: time(row.expires_at),
    label: row.label,
  }
}

/** An older count is not used. */
const OLDEST = 5n * MINUTE

/**
 * Active nodes for the metrics. A large table is not counted here: a job counts it every minute and stores the result.
 * NaN when no instance has counted for five minutes.
 */
export async function readCountedNodes({
  database: { read: db },
  clock,
  batches: enrollment,
}: EnrollmentState): Promise<number> {
  if (!(await isLargeTable(db, 'node_liveness'))) return enrollment.count.read()
  const now = clock.now()
  const row = await db
    .selectFrom('activity_minutes')
    .select('active')
    .where('minute', '>', writeSortable(now - OLDEST))
    .where('minute', '<=', writeSortable(now))
    .orderBy('minute', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.active ?? Number.NaN
}

/** Chooses the interval that this process asks nodes for, and reads how long nodes count as active. */
export async function chooseHeartbeatPace({ activeWindow, batches, clock, database }: EnrollmentState): Promise<void> {
  await batches.pace.choose((seconds) => database.write((tx) => storePace(tx, seconds, clock.now())))
  await activeWindow.refresh(database.read, clock.now())
}

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
