import { faultAfterAudit, faultAfterCommit } from '#faults'
import type { AuditEventType } from '@chancery/contract'
import { type JsonObject, writeInstant, writePlainJson, writeSortable } from '@chancery/protocol'
import { Batcher, LimiterUnavailableError, endOfLoopTurn, readTraceParent } from '@chancery/service-kit'
import type { Call, Clock, Ids, Limiter, Log } from '@chancery/service-kit'
import type { Database, Transaction } from '../database/database.ts'
import type { AuthorityMetrics } from '../metrics.ts'
import { type AuditRow, INSERT_AUDIT_EVENTS, subjectsIn } from './insert.ts'
import { RefusalShares, type RefusedCaller } from './refusal-shares.ts'

/** Read as permanent state: which treaties were revoked, which rules removed, and which lists may have a gap. */
export const STAYING: readonly string[] = [
  'recognition_treaty_revoked',
  'admission_rule_removed',
  'state_recovered',
] satisfies AuditEventType[]

/** One event, as protocol/core 26 lists it. Never a body, token, signature or private key. */
export interface AuditEvent {
  readonly type: AuditEventType
  readonly details: JsonObject
}

/** The members of a call that an event names. */
type CausingCall = Pick<Call, 'headers' | 'remoteAddress' | 'requestId'>

/** Which request caused an event, in which trace of the caller, and through which operator key. */
export function requestDetails(call: CausingCall & { readonly operator?: { readonly key_id: string } }): JsonObject {
  const trace = readTraceParent(call.headers.all('traceparent'))
  return {
    remote_addr: call.remoteAddress,
    request_id: call.requestId,
    ...(trace === undefined ? {} : { trace_id: trace.traceId }),
    ...(call.operator === undefined ? {} : { key_id: call.operator.key_id }),
  }
}

export interface AuditParts {
  readonly database: Pick<Database, 'run'>
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Pick<Ids, 'uuid'>
  readonly log: Log
  readonly metrics: Pick<AuthorityMetrics, 'refusalsNotRecorded' | 'auditWriteFailures'>
  /** Counts refused callers, of all workers together. */
  readonly refusalLimits: Pick<Limiter, 'hit'>
}

/** Stores audit events. */
export class Audit {
  readonly #parts: AuditParts
  readonly #refusals: RefusalShares
  readonly #alone: Batcher<readonly AuditEvent[], true>

  constructor(parts: AuditParts) {
    this.#parts = parts
    this.#refusals = new RefusalShares({ clock: parts.clock, limits: parts.refusalLimits })
    this.#alone = new Batcher(
      async (groups) => {
        await this.#insertAlone(groups.flat())
        return groups.map(() => true as const)
      },
      { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn },
    )
  }

  /** Stores an event in the transaction of the change it describes, so that neither exists without the other. */
  async record(tx: Transaction, event: AuditEvent): Promise<void> {
    await this.recordAll(tx, [event])
  }

  /** Stores many events in the transaction of the change they describe. */
  async recordAll(tx: Transaction, events: readonly AuditEvent[]): Promise<void> {
    if (events.length === 0) return
    const rows = this.toRows(events)
    await tx.run(INSERT_AUDIT_EVENTS, rows)
    faultAfterAudit(tx, rows)
  }

  /**
   * Stores events of a request that stores nothing else. Queued events share one statement, committed before any
   * response.
   */
  async recordAlone(events: readonly AuditEvent[]): Promise<void> {
    await this.#alone.add(events)
  }

  /**
   * For refused callers: best effort. The caller is refused in any case. An event may not be stored because the
   * database fails, or because unauthenticated callers can send any number of bad proofs. Such events are counted, so
   * that their absence is visible. `key` is the caller's where its proof verified. Otherwise the share is that of the
   * address, or of the caller that a trusted gateway names.
   */
  async recordRefusal(event: AuditEvent, { limitKey }: Pick<Call, 'limitKey'>, key?: string): Promise<void> {
    const { metrics, log } = this.#parts
    const caller =
      key === undefined ? ({ kind: 'address', name: limitKey } as const) : { kind: 'key' as const, name: key }
    if (!(await this.#isWithinLimit(event.type, caller))) {
      metrics.refusalsNotRecorded.increase()
      this.#refusals.leaveOut(event.type)
      return
    }
    try {
      await this.recordAlone([event])
    } catch (error) {
      metrics.auditWriteFailures.increase()
      log.error('cannot store an audit event', { event_type: event.type, error })
    }
  }

  /** An event that could not be counted is not stored: the limit protects the disk. */
  async #isWithinLimit(type: AuditEventType, caller: RefusedCaller): Promise<boolean> {
    try {
      return await this.#refusals.take(type, caller)
    } catch (error) {
      if (error instanceof LimiterUnavailableError) return false
      throw error
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
        event_json: writePlainJson(record),
        created_at: writeSortable(now),
        subjects: subjectsIn(type, details),
      }
    })
  }

  /** Stores one event for each day that ended with refusals without a row. Run by a job. */
  async recordLeftOut(isLast = false): Promise<void> {
    const ended = this.#refusals.endedDays(isLast)
    for (let [details] = ended; details !== undefined; [details] = ended) {
      await this.recordAlone([{ type: 'refusals_not_recorded', details }])
      ended.shift()
    }
  }

  /** Stores queued events. */
  async close(): Promise<void> {
    await this.recordLeftOut(true).catch((error: unknown) =>
      this.#parts.log.warn('the count of refusals without an event is lost', { error }),
    )
    await this.#alone.close()
  }

  async #insertAlone(events: readonly AuditEvent[]): Promise<void> {
    const rows = this.toRows(events)
    await this.#parts.database.run(INSERT_AUDIT_EVENTS, rows)
    // One statement writes and commits, so both points are here.
    faultAfterAudit(rows, rows)
    faultAfterCommit(rows)
  }
}
