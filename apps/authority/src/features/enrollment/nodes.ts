import { canonicalJson, readInstant, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EnrollmentState } from './state.ts'
import { type RosterRow, activeMoment, listActiveNodes } from './queries/certificates.ts'

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
