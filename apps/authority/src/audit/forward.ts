import { setTimeout as pause } from 'node:timers/promises'
import { writeSortable } from '@chancery/protocol'
import type { Clock, Log } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import { BEGINNING, CursorUnknownError, exportAudit } from './export.ts'
import type { AuditCursor, ExportedEvent, LineWriter } from './export.ts'

/**
 * The receiver of events. `publish` resolves when it has stored the event, and may be called again for the same one.
 */
export interface EventReceiver {
  publish(event: ExportedEvent): Promise<void>
}

export interface ForwardOptions {
  readonly database: Database
  readonly receiver: EventReceiver
  /** The owner of the position: forwarders of different names each send everything. */
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** Ends when nothing is left instead of waiting for more. */
  readonly isOnce: boolean
  /** Default: the event itself. */
  readonly write?: LineWriter
  readonly pageSize?: number
  readonly pauseMs?: number
}

/**
 * Sends every event at least once, in order of pages, until it is stopped. The position is stored after the receiver
 * has confirmed the whole page. After a crash in between, the page is sent again with the same ids.
 */
export async function forwardAudit(options: ForwardOptions): Promise<{ readonly sent: number }> {
  const { signal, log, pauseMs = 1000 } = options
  let sent = 0
  while (!signal.aborted) {
    try {
      sent += await forwardAll(options)
      if (options.isOnce) break
    } catch (error) {
      if (error instanceof CursorUnknownError) throw error
      log.warn('cannot forward audit events, retrying', { error })
    }
    await pause(pauseMs, undefined, { signal }).catch(() => undefined)
  }
  return { sent }
}

async function forwardAll(options: ForwardOptions): Promise<number> {
  const { database, receiver, name, signal, write, pageSize = 500 } = options
  let sent = 0
  for await (const page of exportAudit(database, await findPosition(database, name), pageSize, write)) {
    await Promise.all(page.map((event) => receiver.publish(event)))
    const last = page.at(-1)
    if (last !== undefined) await storePosition(options, last)
    sent += page.length
    if (signal.aborted) break
  }
  return sent
}

/** The position of a forwarder or a named export. */
export async function findPosition(database: Database, name: string): Promise<AuditCursor> {
  const row = await database.read.selectFrom('audit_forwards').selectAll().where('name', '=', name).executeTakeFirst()
  return row ?? BEGINNING
}

/** Never backwards: a second forwarder of the same name may be ahead. */
export async function storePosition(
  { database, name, clock }: Pick<ForwardOptions, 'database' | 'name' | 'clock'>,
  cursor: AuditCursor,
): Promise<void> {
  const { sequence, event_id } = cursor
  const updated_at = writeSortable(clock.now())
  await database.write(({ query }) =>
    query
      .insertInto('audit_forwards')
      .values({ name, sequence, event_id, updated_at })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ sequence, event_id, updated_at })
          .where('audit_forwards.sequence', '<', sequence),
      )
      .execute(),
  )
}

/**
 * For a reader that no longer runs: it no longer delays removals and is not reported as late. False when there is none.
 */
export async function removePosition(database: Database, name: string): Promise<boolean> {
  const rows = await database.write(({ query }) =>
    query.deleteFrom('audit_forwards').where('name', '=', name).returning('name').execute(),
  )
  return rows.length > 0
}

/** Names of forwarders and, with their prefix, of named exports. */
export async function listReaders(database: Database): Promise<readonly string[]> {
  const rows = await database.read.selectFrom('audit_forwards').select('name').orderBy('name').execute()
  return rows.map(({ name }) => name)
}

/** An operator sets the position, whatever was sent before. */
export async function resetPosition(
  database: Database,
  name: string,
  { sequence, event_id }: AuditCursor,
  now: string,
): Promise<void> {
  await database.write(async (tx) => {
    await tx.query.deleteFrom('audit_forwards').where('name', '=', name).execute()
    await tx.query.insertInto('audit_forwards').values({ name, sequence, event_id, updated_at: now }).execute()
  })
}
