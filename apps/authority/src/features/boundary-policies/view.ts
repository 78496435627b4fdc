import { setImmediate } from 'node:timers/promises'
import { isGlobal, readStoredPolicy } from '@chancery/protocol'
import type { BoundaryPolicy, CheckedPolicy, JsonObject } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import type { PolicyRow } from './queries.ts'

/** Rows whose text is parsed before others get a turn. */
const ROWS_PER_LOOP_TURN = 32

/** Stored versions as lists show them; `withPolicy` adds the signed body. Each text is checked as it is read. */
export async function describeRows(rows: readonly PolicyRow[], withPolicy: boolean): Promise<JsonObject[]> {
  const out: JsonObject[] = []
  for (const row of rows) {
    if (out.length % ROWS_PER_LOOP_TURN === ROWS_PER_LOOP_TURN - 1) await setImmediate()
    const policy = readStoredPolicy(row)
    out.push({ ...describeRow(row, policy), ...(withPolicy ? { policy: policy ?? null } : {}) })
  }
  return out
}

/** What the text says is shown only while it is what was published. */
function describeRow(row: PolicyRow, policy: BoundaryPolicy | undefined): JsonObject {
  const facts = {
    policy_id: row.policy_id,
    version: row.version,
    active: row.active === 1,
    policy_digest: row.policy_digest,
    created_at: toWireTime(row.created_at),
    activated_at: toWireTime(row.activated_at),
    deactivated_at: toWireTime(row.deactivated_at),
    integrity_ok: policy !== undefined,
  }
  if (policy === undefined) return facts
  const { description, valid_from, valid_until, gates, selector } = policy
  return { ...facts, description, valid_from, valid_until, gate_count: gates.length, global: isGlobal(selector) }
}

/** One policy in force, as the active route shows it; nulls where its text cannot be believed. */
export function describeActive({ policy_id, version, policy, policy_digest }: CheckedPolicy): JsonObject {
  return {
    policy_id,
    version,
    policy_digest,
    valid_from: policy?.valid_from ?? null,
    valid_until: policy?.valid_until ?? null,
    gate_count: policy?.gates.length ?? null,
    selector: policy?.selector ?? null,
    policy: policy ?? null,
  }
}
