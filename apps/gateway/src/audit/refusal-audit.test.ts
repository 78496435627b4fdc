import { expect, it } from 'vitest'
import { NO_USAGE } from '../state/verify-state.ts'
import { RefusalRoom } from './refusal-audit.ts'

const CAPACITY = 16_777_216
const used = (part: number) => ({ ...NO_USAGE, usedBytes: CAPACITY * part })

it('counts events that were written since the last measurement', () => {
  const state = { usage: used(0.69) }
  const room = new RefusalRoom(state, CAPACITY)
  expect(room.hasRoomForEvents()).toBe(true)
  room.add(12_000)
  expect([room.hasRoomForEvents(), room.hasRoomForSums()]).toEqual([false, false])
  state.usage = used(0.7)
  expect([room.hasRoomForEvents(), room.hasRoomForSums()]).toEqual([false, true])
  state.usage = used(0.5)
  expect(room.hasRoomForEvents()).toBe(true)
})
