import type { DatabaseSync } from 'node:sqlite'
import { faultPoint } from '#faults'
import { isJsonObject, readInstant, readJson, readJsonBytes, sha256Hex } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { serveCalls } from '@chancery/service-kit/threads'
import {
  appendEvents,
  eventId,
  eventText,
  pendingRows,
  pruneEvents,
  completeDelivery,
  requestRows,
} from './audit-log.ts'
import type { PendingKind } from './audit-log.ts'
import { readCheckpoints, writeCheckpoint, writeEquivocation } from './checkpoints.ts'
import type { StoredCheckpoint, WithdrawnEntry } from './checkpoints.ts'
import { readStateValues } from './state-values.ts'
import { acquireFileLock } from './file-lock.ts'
import type { FileLock } from './file-lock.ts'
import type { CheckpointRequest, EquivocationRequest, OpenedState, PendingEvent, StateUsage } from './state-calls.ts'
import { StateError } from './state-error.ts'
import { inTransaction, openStateFile, pragma } from './state-file.ts'
import { verifyState } from './verify-state.ts'

// The only writer of the state. It is a thread, because a synced commit takes milliseconds, which must not delay other
// requests.

const ANY_COUNT = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }
const PRUNED_PER_RUN = 10_000

let db: DatabaseSync | undefined
let lock: FileLock | undefined

function opened(): DatabaseSync {
  if (db === undefined) throw new StateError('the state is not open')
  return db
}

function open({ file, maxBytes }: { file: string; maxBytes: number }): OpenedState {
  lock = acquireFileLock(file)
  db = openStateFile({ file, isReadOnly: false, maxBytes })
  verifyState(db)
  return { checkpoints: readCheckpoints(db), usage: usage() }
}

function usage(): StateUsage {
  const state = opened()
  const { pending_count } = readStateValues(state)
  const [oldest] = state.prepare('select body from audit join outbox using (sequence) order by sequence limit 1').all()
  const bytes = pragma(state, 'page_count') * pragma(state, 'page_size')
  const free = pragma(state, 'freelist_count') * pragma(state, 'page_size')
  const event = typeof oldest?.['body'] === 'string' ? readJson(oldest['body']) : undefined
  const at = isJsonObject(event) ? event['at'] : undefined
  const oldestPendingAt = typeof at === 'string' ? readInstant(at) : undefined
  return { bytes, usedBytes: bytes - free, pending: pending_count, oldestPendingAt }
}

function append(events: readonly JsonObject[]): void {
  const state = opened()
  faultPoint('event-begun')
  inTransaction(
    state,
    () => appendEvents(state, events),
    () => faultPoint('event-written'),
  )
  faultPoint('event-committed')
}

function storeCheckpoint({ checkpoint, withdrawnChange, events }: CheckpointRequest): void {
  const state = opened()
  faultPoint('checkpoint-begun')
  const { gained, lost } = readWithdrawnChange(withdrawnChange)
  const body = Buffer.from(checkpoint.body).toString('utf8')
  inTransaction(
    state,
    () => {
      writeCheckpoint(state, { ...checkpoint, body, gained, lost })
      if (events.length > 0) appendEvents(state, events)
    },
    () => faultPoint('checkpoint-written'),
  )
  faultPoint('checkpoint-committed')
}

/** Parses the text that trust/check-list.ts wrote. */
function readWithdrawnChange(bytes: Uint8Array): { gained: readonly WithdrawnEntry[]; lost: readonly string[] } {
  return readJsonBytes(bytes, ANY_COUNT) as unknown as { gained: readonly WithdrawnEntry[]; lost: readonly string[] }
}

function storeEquivocation({ proof, event, ...lists }: EquivocationRequest): void {
  const state = opened()
  const [held, offered] = [Buffer.from(lists.held), Buffer.from(lists.offered)]
  inTransaction(state, () => {
    writeEquivocation(state, { ...proof, held: held.toString('utf8'), offered: offered.toString('utf8') })
    appendEvents(state, [{ ...event, held_sha256: sha256Hex(held), offered_sha256: sha256Hex(offered) }])
  })
}

function pending({ limit, kind }: { limit: number; kind: PendingKind }): PendingEvent[] {
  return pendingRows(opened(), limit, kind).map((row) => ({
    sequence: row.sequence,
    id: eventId(row),
    text: eventText(row),
  }))
}

function complete({ acknowledged, refused }: { acknowledged: readonly number[]; refused: readonly number[] }): number {
  const state = opened()
  faultPoint('acknowledged')
  const rejected = inTransaction(state, () => completeDelivery(state, acknowledged, refused))
  faultPoint('acknowledgement-committed')
  return rejected
}

/** Removes a limited number of acknowledged events, and appends an event that names them. */
function prune({ before, event }: { before: Instant; event: JsonObject }): number {
  const state = opened()
  return inTransaction(state, () => {
    const pruned = pruneEvents(state, before, PRUNED_PER_RUN)
    if (pruned === undefined) return 0
    appendEvents(state, [{ ...event, ...pruned }])
    return pruned.removed_count
  })
}

function findStored({ network, issuer }: { network: string; issuer: string }): StoredCheckpoint | undefined {
  return readCheckpoints(opened()).find((each) => each.network === network && each.issuer === issuer)
}

function findEvents({ requestId, newest }: { requestId: string; newest: number }): JsonObject[] {
  return requestRows(opened(), requestId, newest)
    .map((row) => readJson(eventText(row)))
    .filter(isJsonObject)
}

function close(): void {
  db?.close()
  lock?.release()
  db = undefined
}

serveCalls({
  open,
  usage,
  append,
  storeCheckpoint,
  storeEquivocation,
  pending,
  complete,
  prune,
  findStored,
  findEvents,
  close,
})
