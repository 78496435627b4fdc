import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOUR, readInstant, writeInstant } from '@chancery/protocol'
import type { Finding } from '@chancery/service-kit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { appendEvents } from '../state/audit-log.ts'
import { createStateFile, inTransaction } from '../state/state-file.ts'
import { readStoredState } from './check-state.ts'

const START = readInstant('2026-01-01T00:00:00Z') ?? 0n
const NOW = START + 24n * HOUR
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-room-'))
  // 25 events of one day with 100 KB each.
  createStateFile(join(folder, 'state'), (db) =>
    inTransaction(db, () => {
      const events = Array.from({ length: 25 }, (_, n) => n)
      const at = (n: number): string => writeInstant(START + BigInt(n) * HOUR)
      appendEvents(
        db,
        events.map((n) => ({ event_id: `e-${n}`, filler: 'x'.repeat(100_000), at: at(n) })),
      )
    }),
  )
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function room(settings: Partial<GatewaySettings>): Finding | undefined {
  const all = { stateFile: join(folder, 'state'), stateMaxBytes: 2 ** 30, auditRetentionDays: 90, ...settings }
  const { findings } = readStoredState(all as GatewaySettings, undefined, NOW)
  return findings.find(({ check }) => check === 'state-room')
}

it('names the day when a state with a collector is full', () => {
  const slow = room({ auditUrl: 'https://collector.example', stateMaxBytes: 24_000_000 })
  expect(slow).toMatchObject({ status: 'warn', found: expect.stringContaining('full on 2026-01-10') })
  expect(slow?.fix).toContain('collector')
  expect(room({ auditUrl: 'https://collector.example', auditRetentionDays: 0 })).toMatchObject({ status: 'good' })
})

it('says how many days the events of a state without a collector cover, and warns when they are fewer than set', () => {
  const few = room({ stateMaxBytes: 24_000_000 })
  expect(few).toMatchObject({ status: 'warn', found: expect.stringContaining('of about 5 days, not 90') })
  expect(room({})).toMatchObject({ status: 'good', found: expect.stringMatching(/of about 2\d\d days/) })
})
