import type { NodeState } from '@chancery/contract'
import { type JsonObject, readJson } from '@chancery/protocol'
import type { Database } from '../../../database/database.ts'
import { IdStatement } from '../../../database/statement.ts'
import { toWireTime } from '../../../requests/list-position.ts'
import { type Moment, nodeState } from '../mark-silent.job.ts'

interface StoredRow {
  readonly cert_id: string
  readonly node_public_key: string
  readonly roles_json: string
  readonly issued_at: string
  readonly expires_at: string
  readonly status: string
  readonly revoke_after: string | null
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly joined_at: string
  readonly last_heartbeat: string | null
  readonly heartbeat_status: string | null
  readonly remote_addr: string | null
  readonly silent_since: string | null
  readonly former_heartbeat: string | null
  readonly former_status: string | null
  readonly former_addr: string | null
  readonly label: string | null
  readonly folded: string | null
  readonly agent_id: string | null
  readonly capabilities_json: string | null
  readonly agent_expires_at: string | null
}

export interface NodeRow extends StoredRow {
  readonly state: NodeState
  readonly roles: readonly string[]
}

const READ_ROWS = new IdStatement<StoredRow>(
  'roster-rows',
  (ids) => `select c.cert_id, c.node_public_key, c.roles_json, c.issued_at, c.expires_at, c.status, c.revoke_after,
    c.revoked_at, c.revocation_reason,
    (select min(j.issued_at) from issued_certs j where j.node_public_key = t.id) as joined_at,
    l.last_heartbeat, l.heartbeat_status, l.remote_addr, l.silent_since, o.last_heartbeat as former_heartbeat,
    o.heartbeat_status as former_status, o.remote_addr as former_addr, n.label, n.folded, a.agent_id,
    a.capabilities_json, a.expires_at as agent_expires_at
  from ${ids} join issued_certs c on c.cert_id = (select k.cert_id from issued_certs k where k.node_public_key = t.id
      order by k.issued_at desc, k.cert_id desc limit 1)
    left join node_liveness l on l.cert_id = c.cert_id
    left join node_liveness o on o.cert_id = c.renewed_from
    left join node_labels n on n.node_public_key = t.id
    left join agent_registrations a on a.node_public_key = t.id and a.listed = 1`,
)

/** One row for each key, by its newest certificate. */
export async function readNodes(
  database: Database,
  keys: readonly string[],
  moment: Moment,
): Promise<ReadonlyMap<string, NodeRow>> {
  const rows = await READ_ROWS.run(database, database.read, keys)
  return new Map(rows.map((row) => [row.node_public_key, toNode(row, moment)]))
}

/** A node may send heartbeats with the former certificate until the end of its grace period. */
function toNode(row: StoredRow, moment: Moment): NodeRow {
  const { former_heartbeat: former, last_heartbeat: last } = row
  const isFormer = former !== null && (last === null || former > last)
  const heard = isFormer
    ? { last_heartbeat: former, heartbeat_status: row.former_status, remote_addr: row.former_addr }
    : { last_heartbeat: last, heartbeat_status: row.heartbeat_status, remote_addr: row.remote_addr }
  // An agent whose time is over is listed until a job removes it.
  const isOver = row.agent_expires_at !== null && row.agent_expires_at <= moment.now
  const agent = isOver ? { agent_id: null, capabilities_json: null, agent_expires_at: null } : {}
  const known = { ...row, ...heard, ...agent }
  return { ...known, state: nodeState(known, moment), roles: readJson(row.roles_json) as readonly string[] }
}

export function viewNode(row: NodeRow): JsonObject {
  return {
    node_public_key: row.node_public_key,
    label: row.label,
    state: row.state,
    roles: row.roles,
    cert_id: row.cert_id,
    joined_at: toWireTime(row.joined_at),
    issued_at: toWireTime(row.issued_at),
    expires_at: toWireTime(row.expires_at),
    revoked_at: toWireTime(row.revoked_at),
    revocation_reason: row.revocation_reason,
    last_heartbeat: toWireTime(row.last_heartbeat),
    heartbeat_status: row.heartbeat_status,
    remote_addr: row.remote_addr,
    agent_id: row.agent_id,
    capabilities: row.capabilities_json === null ? [] : readJson(row.capabilities_json),
  }
}
