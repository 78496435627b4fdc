import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY, HOUR, type JsonObject, readInstant, writeInstant } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendEvents, auditRows, pendingRows } from './audit-log.ts'
import { DurableState } from './durable-state.ts'
import { createStateFile, inTransaction, openStateFile } from './state-file.ts'
import { readStateValues } from './state-values.ts'
import { forecast, measureUsage } from './usage.ts'
import { verifyState } from './verify-state.ts'

const MAX_BYTES = 2 * 1024 * 1024
const START = readInstant('2026-01-01T00:00:00Z') ?? 0n
let folder: string
let file: string
let state: DurableState | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-ring-'))
  file = join(folder, 'state')
  createStateFile(file, () => undefined)
})
afterEach(async () => {
  await state?.close()
  state = undefined
  rmSync(folder, { recursive: true, force: true })
})

const event = (n: number): JsonObject => ({
  event_id: `e-${n}`,
  filler: 'x'.repeat(400),
  at: writeInstant(START + BigInt(n) * 1_000_000n),
})

async function openState(ring: (() => JsonObject) | undefined): Promise<DurableState> {
  const log = createLog({ level: 'error', format: 'json' })
  state = (await DurableState.open({ file, maxBytes: MAX_BYTES, log, ring })).state
  return state
}

/** Appends more events than the capacity stores. */
async function overfill(into: DurableState): Promise<void> {
  for (let n = 0; n < 6000; n += 500)
    await Promise.all(Array.from({ length: 500 }, (_, k) => into.append(event(n + k))))
}

const pruned = (): JsonObject => ({ event: 'audit_pruned', event_id: 'p', at: writeInstant(START) })

describe('without a collector', () => {
  it('the oldest events make room for new ones: a gateway never ends by its audit', async () => {
    const opened = await openState(pruned)
    await overfill(opened)
    expect(opened.isHealthy).toBe(true)
    expect((await opened.measure()).usedBytes).toBeLessThan(MAX_BYTES * 0.7)
    await opened.close()
    const db = openStateFile({ file, isReadOnly: true, maxBytes: MAX_BYTES })
    const { first_sequence, head_sequence, pending_count } = verifyState(db)
    const bodies = [...auditRows(db, head_sequence)].map(({ body }) => body)
    db.close()
    expect(first_sequence).toBeGreaterThan(1)
    expect(pending_count).toBe(0)
    // The newest event is there, and the removed ones are named.
    expect(bodies.some((body) => body.includes('"e-5999"'))).toBe(true)
    expect(bodies.some((body) => body.includes('"removed_through"'))).toBe(true)
  })

  it('events that waited for a former collector are released and counted', async () => {
    const db = openStateFile({ file, isReadOnly: false, maxBytes: MAX_BYTES })
    inTransaction(db, () => appendEvents(db, [event(1), event(2)]))
    db.close()
    const opened = await openState(pruned)
    expect(opened.released).toBe(2)
    expect((await opened.measure()).pending).toBe(0)
  })
})

it('with a collector a full state refuses, and removes nothing that was not acknowledged', async () => {
  const opened = await openState(undefined)
  await expect(overfill(opened)).rejects.toThrow('the state cannot be written')
  expect(opened.isHealthy).toBe(false)
  await opened.close()
  const db = openStateFile({ file, isReadOnly: true, maxBytes: MAX_BYTES })
  expect(readStateValues(db).first_sequence).toBe(1)
  expect(pendingRows(db, 1, 'waiting')).toHaveLength(1)
  db.close()
})

describe('forecast', () => {
  const settings = { auditUrl: undefined, stateMaxBytes: MAX_BYTES, auditRetentionDays: 90 }
  const collected = { ...settings, auditUrl: 'https://collector.example' }

  it('measures the last day of events, not the quiet time before it', () => {
    const db = openStateFile({ file, isReadOnly: false, maxBytes: MAX_BYTES })
    const at = (hours: bigint): JsonObject => ({ ...event(0), at: writeInstant(START + hours * HOUR) })
    inTransaction(db, () => appendEvents(db, [at(0n), ...Array.from({ length: 25 }, (_, n) => at(1000n + BigInt(n)))]))
    const { bytesPerDay } = measureUsage(db)
    db.close()
    expect(bytesPerDay).toBeGreaterThan(24 * 500)
    expect(bytesPerDay).toBeLessThan(24 * 800)
  })

  it('says nothing of a state that is minutes old', () => {
    const db = openStateFile({ file, isReadOnly: false, maxBytes: MAX_BYTES })
    inTransaction(db, () => appendEvents(db, [event(0), event(60)]))
    const usage = measureUsage(db)
    db.close()
    expect(usage.bytesPerDay).toBeUndefined()
    expect(forecast(usage, collected, START)).toEqual({ fullAt: undefined, storedDays: undefined })
  })

  it('names the day when a collector is too slow for the room, and the days that a ring stores', () => {
    const usage = { bytes: 0, usedBytes: 0, pending: 0, oldestPendingAt: undefined, bytesPerDay: MAX_BYTES / 10 }
    expect(forecast(usage, collected, START).fullAt).toBe(START + 10n * DAY)
    expect(forecast(usage, { ...collected, auditRetentionDays: 5 }, START).fullAt).toBeUndefined()
    // Events that are not acknowledged for a day are not removed by age.
    const stuck = { ...usage, oldestPendingAt: START - DAY }
    expect(forecast(stuck, { ...collected, auditRetentionDays: 5 }, START).fullAt).toBe(START + 10n * DAY)
    expect(forecast(usage, settings, START).storedDays).toBeCloseTo(6)
  })
})
