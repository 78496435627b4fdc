import { expect, it } from 'vitest'
import { listAge } from './list-age.ts'

const LIST = { sequence: 7, nextUpdate: '2026-03-02T10:00:00Z' }
const at = (time: string): number => Date.parse(time)

it.each([
  [7, '2026-03-02T10:00:00Z', ''],
  [6, '2026-03-02T09:00:00Z', ''],
  [1_008, '2026-03-02T09:00:00Z', 'older than list #1,008 of the summary'],
  [7, '2026-03-02T10:00:01Z', 'out of date since 2026-03-02 10:00 UTC'],
  [8, '2026-03-03T00:00:00Z', 'older than list #8 of the summary, out of date since 2026-03-02 10:00 UTC'],
])('states the age of list 7 when the summary has list %d at %s', (latest, now, text) => {
  expect(listAge(LIST, latest, at(now))).toBe(text)
})
