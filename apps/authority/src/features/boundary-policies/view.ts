import { setImmediate } from 'node:timers/promises'
import { isGlobal, readStoredPolicy } from '@chancery/protocol'
import type { BoundaryPolicy, CheckedPolicy, JsonObject } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import type { PolicyRow } from './queries.ts'

/** Number of texts parsed before the event loop continues. */
const ROWS_PER_LOOP_TURN = 32

/** Stored versions for lists; `withPolicy` adds the signed body. Each text is checked when it is read. */
export async function describeRows(rows: readonly PolicyRow[], withPolicy: boolean): Promise<JsonObject[]> {
  const out: JsonObject[] = []
  for (const row of rows) {
    if (out.length % ROWS_PER_LOOP_TURN === ROWS_PER_LOOP_TURN - 1) await setImmediate()
    const policy = readStoredPolicy(row)
    out.push({ ...describeRow(row, policy), ...(withPolicy ? { policy: policy ?? null } : {}) })
  }
  return out
}

/** The content of the text is shown only if it is the published text. */
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

/** One active policy for the active route. Members are null when its text does not verify. */
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
