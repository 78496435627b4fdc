import { faultAfterAudit } from '#faults'
import type { AuditEventType } from '@chancery/contract'
import { writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { Batcher, endOfLoopTurn } from '@chancery/service-kit'
import type { Call, Clock, Ids, Limiter, Log } from '@chancery/service-kit'
import type { Database, Tx } from '../database/database.ts'
import type { AuthorityMetrics } from '../metrics.ts'

/** One thing that happened, as protocol/core 26 lists it. Never a body, token, signature or private key. */
export interface AuditEvent {
  readonly type: AuditEventType
  readonly details: JsonObject
}

/** Which request caused an event, and through which operator key. */
export function requestDetails(call: Call & { readonly operator?: { readonly key_id: string } }): JsonObject {
  const cause = { remote_addr: call.remoteAddress, request_id: call.requestId }
  return call.operator === undefined ? cause : { ...cause, key_id: call.operator.key_id }
}

export interface AuditRow {
  readonly event_id: string
  readonly event_type: string
  readonly event_json: string
  readonly created_at: string
}

export interface AuditParts {
  readonly database: Pick<Database, 'read' | 'native'>
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Pick<Ids, 'uuid'>
  readonly log: Log
  readonly metrics: Pick<AuthorityMetrics, 'refusalsNotRecorded' | 'auditWriteFailures'>
  readonly processLimiter: Limiter
}

/** Rows per minute, event type and instance: enough to see an attack, too few to fill a disk with. */
const REFUSALS_PER_MINUTE = 600

/** Stores audit events. */
export class Audit {
  readonly #parts: AuditParts
  readonly #alone: Batcher<readonly AuditEvent[], true>

  constructor(parts: AuditParts) {
    this.#parts = parts
    this.#alone = new Batcher(
      async (groups) => {
        await this.#insertAlone(groups.flat())
        return groups.map(() => true as const)
      },
      { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn },
    )
  }

  /** Stores an event in the transaction of the change it describes: one cannot be there without the other. */
  async record(tx: Tx, event: AuditEvent): Promise<void> {
    await this.recordAll(tx, [event])
  }

  /** The same for many events, in statements of a bounded size. */
  async recordAll(tx: Tx, events: readonly AuditEvent[]): Promise<void> {
    const rows = this.toRows(events)
    for (let at = 0; at < rows.length; at += 500)
      await tx
        .insertInto('audit_events')
        .values(rows.slice(at, at + 500))
        .execute()
    faultAfterAudit(tx, events)
  }

  /** Stores events of a request that stores nothing else. Those that wait share one statement, committed before any answer. */
  async recordAlone(events: readonly AuditEvent[]): Promise<void> {
    await this.#alone.add(events)
  }

  /**
   * For refused callers: best effort. The caller is refused whatever happens here; what is not stored, because nothing
   * could be or because anybody may send a million bad proofs, is counted, so that silence is not mistaken for calm.
   */
  async recordRefusal(event: AuditEvent): Promise<void> {
    const { processLimiter, metrics, database, log } = this.#parts
    if (!(await processLimiter.hit(`refused-audit ${event.type}`, REFUSALS_PER_MINUTE))) {
      metrics.refusalsNotRecorded.increase()
      return
    }
    try {
      await this.record(database.read, event)
    } catch (error) {
      metrics.auditWriteFailures.increase()
      log.error('an audit event could not be stored', { event_type: event.type, error })
    }
  }

  /** Events as rows, for statements that insert them together with other rows. */
  toRows(events: readonly AuditEvent[]): readonly AuditRow[] {
    const { clock, ids } = this.#parts
    const now = clock.now()
    return events.map(({ type, details }) => {
      const record = { event_id: ids.uuid(), event_type: type, details, created_at: writeInstant(now) }
      return {
        event_id: record.event_id,
        event_type: type,
        event_json: writeJson(record),
        created_at: writeSortable(now),
      }
    })
  }

  /** Stores what waits. */
  close(): Promise<void> {
    return this.#alone.close()
  }

  /** Prepared once where the engine can: a statement of its own for each number of rows costs more than the rows. */
  async #insertAlone(events: readonly AuditEvent[]): Promise<void> {
    const { native: engine, read: db } = this.#parts.database
    if (engine.kind !== 'postgres') return this.recordAll(db, events)
    const rows = this.toRows(events)
    await engine.run(
      'insert-audits',
      'insert into audit_events (event_id, event_type, event_json, created_at) ' +
        'select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])',
      [
        rows.map((row) => row.event_id),
        rows.map((row) => row.event_type),
        rows.map((row) => row.event_json),
        rows.map((row) => row.created_at),
      ],
    )
  }
}
