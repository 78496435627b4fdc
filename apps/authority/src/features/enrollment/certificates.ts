import { LIMITS, Refusal } from '@chancery/contract'
import { type JsonObject, readJson, writeSortable } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { readPlace, toWireTime, writePlace } from '../../requests/list-position.ts'
import { readPage, readTimeFilter, writeCursor } from '../../requests/paging.ts'
import { readLabel } from './requests.ts'
import type { EnrollmentParts } from './present.ts'
import {
  CERTIFICATE_STATES,
  INVENTORY_ORDER,
  countInventory,
  inventoryState,
  readInventory,
} from './queries/inventory.ts'
import type { InventoryFilter, InventoryRow, InventoryState } from './queries/inventory.ts'

/**
 * GET /admin/certificates
 * Lists every certificate ever issued, newest first, with its state and the label of its node.
 */
export async function certificates(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  const now = writeSortable(parts.clock.now())
  const filter = readFilter(call.query, now)
  const page = readPage(call.query)
  const after = readPlace(INVENTORY_ORDER, page.after)
  const { rows, next } = await readInventory(parts.database, filter, { limit: page.limit, after })
  const isWhole = after === undefined && next === undefined
  return {
    count: rows.length,
    certificates: rows.map((row) => viewOf(row, now)),
    next_cursor: next === undefined ? null : writeCursor(writePlace(INVENTORY_ORDER, next)),
    total: isWhole ? rows.length : await countInventory(parts.database, filter, LIMITS.listCountMax),
  }
}

function readFilter(query: Query, now: string): InventoryFilter {
  const [state, label] = [readText(query, 'state'), readText(query, 'label')]
  if (state !== undefined && !isState(state)) throw new Refusal('invalid_input', { field: 'state' })
  return {
    state,
    cert_id: readText(query, 'cert_id'),
    node_public_key: readText(query, 'node_public_key'),
    role: readText(query, 'role'),
    label: label === undefined ? undefined : readLabel(label),
    issued_since: readTimeFilter(query, 'issued_since'),
    issued_until: readTimeFilter(query, 'issued_until'),
    expires_before: readTimeFilter(query, 'expires_before'),
    now,
  }
}

function isState(text: string): text is InventoryState {
  return CERTIFICATE_STATES.some((state) => state === text)
}

function readText(query: Query, name: string): string | undefined {
  const text = query.first(name)
  if (text === '') throw new Refusal('invalid_input', { field: name })
  return text
}

function viewOf(row: InventoryRow, now: string): JsonObject {
  return {
    cert_id: row.cert_id,
    node_public_key: row.node_public_key,
    roles: readJson(row.roles_json),
    issued_at: toWireTime(row.issued_at),
    expires_at: toWireTime(row.expires_at),
    state: inventoryState(row, now),
    revoked_at: toWireTime(row.revoked_at),
    revocation_reason: row.revocation_reason,
    renewed_from: row.renewed_from,
    renewed_by: row.renewed_by,
    last_heartbeat: toWireTime(row.last_heartbeat),
    heartbeat_status: row.heartbeat_status,
    remote_addr: row.remote_addr,
    label: row.label,
  }
}
