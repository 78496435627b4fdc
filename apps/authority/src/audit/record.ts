import { auditedPoint } from '#faults'
import type { AuditEventType } from '@chancery/contract'
import { writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../office.ts'
import type { Tx } from '../store/database.ts'

/** One thing that happened, as protocol/core 26 lists it. Never a body, token, signature or private key. */
export interface AuditEvent {
  readonly type: AuditEventType
  readonly details: JsonObject
}

/** Which request caused an event, and through which operator key. */
export function causedBy(call: Call & { readonly operator?: { readonly key_id: string } }): JsonObject {
  const cause = { remote_addr: call.remoteAddress, request_id: call.requestId }
  return call.operator === undefined ? cause : { ...cause, key_id: call.operator.key_id }
}

/** Stores an event in the transaction of the change it tells of: one cannot be there without the other. */
export async function recordAudit(tx: Tx, office: Office, event: AuditEvent): Promise<void> {
  await recordAudits(tx, office, [event])
}

/** The same for many events, in statements of a bounded size. */
export async function recordAudits(tx: Tx, office: Office, events: readonly AuditEvent[]): Promise<void> {
  const rows = auditRows(office, events)
  for (let at = 0; at < rows.length; at += 500)
    await tx
      .insertInto('audit_events')
      .values(rows.slice(at, at + 500))
      .execute()
  auditedPoint(tx, events)
}

export interface AuditRow {
  readonly event_id: string
  readonly event_type: string
  readonly event_json: string
  readonly created_at: string
}

export function auditRows(office: Pick<Office, 'clock' | 'ids'>, events: readonly AuditEvent[]): readonly AuditRow[] {
  const now = office.clock.now()
  return events.map(({ type, details }) => {
    const record = { event_id: office.ids.uuid(), event_type: type, details, created_at: writeInstant(now) }
    return {
      event_id: record.event_id,
      event_type: type,
      event_json: writeJson(record),
      created_at: writeSortable(now),
    }
  })
}

/** Rows per minute, event type and instance: enough to see an attack, too few to fill a disk with. */
const REFUSALS_PER_MINUTE = 600

/**
 * For refused callers: best effort. The caller is refused whatever happens here; what is not stored, because nothing
 * could be or because anybody may send a million bad proofs, is counted, so that silence is not mistaken for calm.
 */
export async function recordRefusedCaller(office: Office, event: AuditEvent): Promise<void> {
  if (!(await office.processLimiter.hit(`refused-audit ${event.type}`, REFUSALS_PER_MINUTE))) {
    office.metrics.refusalsNotRecorded.increase()
    return
  }
  try {
    await recordAudit(office.store.db, office, event)
  } catch (error) {
    office.metrics.auditWriteFailures.increase()
    office.log.error('an audit event could not be stored', { event_type: event.type, error })
  }
}
