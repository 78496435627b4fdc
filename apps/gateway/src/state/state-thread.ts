import type { DatabaseSync } from 'node:sqlite'
import { faultPoint } from '#faults'
import { type JsonObject, isJsonObject, readJson, readJsonBytes, sha256Hex } from '@chancery/protocol'
import { serveCalls } from '@chancery/service-kit/threads'
import {
  appendEvents,
  eventId,
  eventText,
  pendingRows,
  pruneEvents,
  releaseOutbox,
  completeDelivery,
  requestRows,
} from './audit-log.ts'
import type { PendingKind } from './audit-log.ts'
import { readCheckpoints, writeCheckpoint, writeEquivocation } from './checkpoints.ts'
import type { StoredCheckpoint, WithdrawnEntry } from './checkpoints.ts'
import { StateError, type StateValues, readStateValues } from './state-values.ts'
import { type FileLock, acquireFileLock } from './file-lock.ts'
import { verifyState } from './verify-state.ts'
import type {
  CheckpointRequest,
  EquivocationRequest,
  OpenedState,
  PendingEvent,
  PruneRequest,
  Pruned,
  StateUsage,
} from './verify-state.ts'
import { inTransaction, openStateFile } from './state-file.ts'
import { measureUsage, usedBytes } from './usage.ts'

// The only writer of the state. It is a thread, because a synced commit takes milliseconds, which must not delay other
// requests.

const ANY_COUNT = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }
const PRUNED_PER_RUN = 10_000

let db: DatabaseSync | undefined
let lock: FileLock | undefined
let hasCollector = true

function opened(): DatabaseSync {
  if (db === undefined) throw new StateError('the state is not open')
  return db
}

interface OpenRequest {
  readonly file: string
  readonly maxBytes: number
  readonly hasCollector: boolean
}

function open({ file, maxBytes, ...request }: OpenRequest): OpenedState {
  lock = acquireFileLock(file)
  db = openStateFile({ file, isReadOnly: false, maxBytes })
  const state = db
  const { pending_count } = verifyState(state)
  hasCollector = request.hasCollector
  const released = hasCollector || pending_count === 0 ? 0 : inTransaction(state, () => releaseOutbox(state))
  return { checkpoints: readCheckpoints(state), usage: usage(), released }
}

function usage(): StateUsage {
  return measureUsage(opened())
}

/** Returns the bytes in use afterwards. */
function append(events: readonly JsonObject[]): number {
  const state = opened()
  faultPoint('event-begun')
  inTransaction(
    state,
    () => appendEvents(state, events, hasCollector),
    () => faultPoint('event-written'),
  )
  faultPoint('event-committed')
  return usedBytes(state)
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
      if (events.length > 0) appendEvents(state, events, hasCollector)
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
    const digests = { held_sha256: sha256Hex(held), offered_sha256: sha256Hex(offered) }
    appendEvents(state, [{ ...event, ...digests }], hasCollector)
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

/** Removes a limited number of events that wait for no collector, and appends an event that names them. */
function prune({ limit, event }: PruneRequest): Pruned {
  const state = opened()
  return inTransaction(state, () => {
    const pruned = pruneEvents(state, limit, rowsOfOneRun(limit, readStateValues(state)))
    if (pruned === undefined) return { removed: 0, usedBytes: usedBytes(state) }
    appendEvents(state, [{ ...event, ...pruned }], hasCollector)
    return { removed: pruned.removed_count, usedBytes: usedBytes(state) }
  })
}

/** A ring gives up a tenth at once: a small state does not lose most of its events, nor each commit some of them. */
function rowsOfOneRun(limit: PruneRequest['limit'], { first_sequence, head_sequence }: StateValues): number {
  if ('before' in limit) return PRUNED_PER_RUN
  const stored = head_sequence - first_sequence + 1
  return stored < limit.keep * 1.1 ? 0 : Math.min(PRUNED_PER_RUN, Math.ceil(stored / 10))
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
