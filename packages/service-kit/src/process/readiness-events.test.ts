import { expect, it } from 'vitest'
import { createLog } from '../log/log.ts'
import { ReadinessEvents } from './readiness-events.ts'

it('logs once when readiness is lost, with the reasons, once when it returns, and nothing for a requested stop', () => {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  let ms = 0
  const clock = { now: () => 0n, monotonicMs: () => ms }
  const events = new ReadinessEvents(createLog({ level: 'info', format: 'json', destination, clock }), clock)
  const looks = [[], ['database_unavailable', 'schema_version'], ['database_unavailable'], ['stopping'], [], [], ['x']]
  for (const reasons of looks) {
    events.see(reasons)
    ms += 1000
  }
  expect(lines.map(({ level, event, not_ready_seconds }) => [level, event, not_ready_seconds])).toEqual([
    ['error', 'not ready: database_unavailable, schema_version', undefined],
    ['warn', 'ready again', 3],
    ['error', 'not ready: x', undefined],
  ])
})
