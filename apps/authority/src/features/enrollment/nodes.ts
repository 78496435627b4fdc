import { readInstant, writeInstant } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { listActiveNodes } from './store.ts'
import type { RosterRow } from './store.ts'

const PAGE = 1000

/**
 * GET /nodes
 * Strangers learn how many nodes are active; a verified operator learns which. Headers that fail never get here.
 */
export async function nodes(call: Call | OperatorCall, office: Office): Promise<JsonObject> {
  if (!('operator' in call)) return { count: await office.enrollment.count.read() }
  const roster: Record<string, JsonValue> = {}
  let count = 0
  // In pages, so that a large roster neither sits in the database driver at once nor holds the event loop.
  for (let after = ''; ;) {
    const rows = await listActiveNodes(office.store.db, office.clock.now(), after, PAGE)
    for (const row of rows) roster[row.cert_id] = toEntry(row)
    count += rows.length
    after = rows.at(-1)?.cert_id ?? after
    if (rows.length < PAGE) return { count, nodes: roster }
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
  }
}
