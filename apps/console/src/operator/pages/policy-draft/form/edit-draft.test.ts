import type { JsonObject } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import {
  gatesOf,
  otherMembers,
  placeText,
  renamed,
  runOrder,
  valueAt,
  withGate,
  withGateType,
  withMovedGate,
  withValue,
  withoutGate,
} from './edit-draft.ts'

/** Holds: the form changes what was edited, and keeps every member that it does not know. */
const DRAFT: JsonObject = {
  policy_id: 'p',
  x_note: { kept: [1] },
  selector: { capabilities: ['pay.*'], x_more: 1 },
  gates: [
    {
      gate_id: 'b',
      gate_type: 'max_value.v1',
      order: 7,
      config: { path: 'attributes.a', max: 1, x_unit: 'EUR' },
      x_own: 1,
    },
    { gate_id: 'a', gate_type: 'new_kind.v9', order: 2, config: { any: true } },
    { gate_id: 'c', gate_type: 'min_value.v1', order: 9, config: { path: 'attributes.a', min: 1 } },
  ],
}
const ids = (draft: JsonObject): unknown[] =>
  runOrder(gatesOf(draft)).map((at) => valueAt(draft, ['gates', at, 'gate_id']))
const orders = (draft: JsonObject): unknown[] => gatesOf(draft).map((_, at) => valueAt(draft, ['gates', at, 'order']))

describe('an edit of the draft', () => {
  it('changes one value and nothing else', () => {
    const next = withValue(DRAFT, ['gates', 0, 'config', 'max'], 2)
    expect(valueAt(next, ['gates', 0])).toEqual({
      gate_id: 'b',
      gate_type: 'max_value.v1',
      order: 7,
      config: { path: 'attributes.a', max: 2, x_unit: 'EUR' },
      x_own: 1,
    })
    expect(withValue(next, ['gates', 0, 'config', 'max'], 1)).toEqual(DRAFT)
    expect(placeText(['gates', 0, 'config', 'answer', 'path'])).toBe('gates[0].config.answer.path')
  })

  it('makes nested members, and removes them with the object that is empty then', () => {
    const place = ['gates', 1, 'config', 'revision', 'path'] as const
    const next = withValue(DRAFT, place, 'r')
    expect(valueAt(next, ['gates', 1, 'config'])).toEqual({ any: true, revision: { path: 'r' } })
    expect(withValue(next, place, undefined)).toEqual(DRAFT)
  })

  it('adds a gate that runs last, with an unused id, and removes it', () => {
    const next = withGate(DRAFT)
    expect(ids(next)).toEqual(['a', 'b', 'c', 'gate-4'])
    expect(valueAt(next, ['gates', 3, 'order'])).toBe(10)
    expect(withoutGate(next, 3)).toEqual(DRAFT)
    expect(valueAt(withGate({}), ['gates', 0, 'order'])).toBe(0)
    const used = { gates: [{ gate_id: 'gate-2' }] }
    expect(valueAt(withGate(used), ['gates', 1, 'gate_id'])).toBe('gate-3')
  })

  it('moves a gate in the order in which gates run, with the same orders and all members', () => {
    const next = withMovedGate(DRAFT, 0, 1)
    expect(ids(next)).toEqual(['a', 'c', 'b'])
    expect(orders(next).toSorted()).toEqual([2, 7, 9])
    const moved = gatesOf(next).findIndex((_, at) => valueAt(next, ['gates', at, 'gate_id']) === 'b')
    expect(valueAt(next, ['gates', moved])).toMatchObject({ order: 9, x_own: 1, config: { x_unit: 'EUR' } })
    expect(withMovedGate(DRAFT, 1, -1)).toEqual(DRAFT)
  })

  it('numbers gates again when their orders cannot be used', () => {
    const draft = { gates: [{ gate_id: 'a', order: 1 }, { gate_id: 'b', order: 1 }, { gate_id: 'c' }] }
    expect(ids(draft)).toEqual(['a', 'b', 'c'])
    const next = withMovedGate(draft, 2, -1)
    expect([ids(next), orders(next)]).toEqual([
      ['a', 'c', 'b'],
      [0, 1, 2],
    ])
  })

  it('changes the type of a gate: members of the earlier type go, shared and unknown ones stay', () => {
    const next = withGateType(DRAFT, 0, 'min_value.v1')
    expect(valueAt(next, ['gates', 0])).toMatchObject({ gate_type: 'min_value.v1', x_own: 1 })
    expect(valueAt(next, ['gates', 0, 'config'])).toEqual({ path: 'attributes.a', x_unit: 'EUR' })
  })

  it('returns the config of a type with the type, and keeps shared members as they are now', () => {
    const earlier = new Map<string, JsonObject>()
    const change = (draft: JsonObject, type: string): JsonObject => withGateType(draft, 0, type, earlier)
    const config = (draft: JsonObject): unknown => valueAt(draft, ['gates', 0, 'config'])
    const other = change(DRAFT, 'min_value.v1')
    expect(config(other)).toEqual({ path: 'attributes.a', x_unit: 'EUR' })
    const moved = withValue(
      withValue(other, ['gates', 0, 'config', 'path'], 'attributes.b'),
      ['gates', 0, 'config', 'min'],
      7,
    )
    expect(config(change(moved, 'max_value.v1'))).toEqual({ path: 'attributes.b', max: 1, x_unit: 'EUR' })
    // Through a type that has no member of them.
    const window = change(moved, 'time_window.v1')
    expect(config(window)).toEqual({ x_unit: 'EUR' })
    expect(config(change(window, 'min_value.v1'))).toEqual({ path: 'attributes.b', min: 7, x_unit: 'EUR' })
    expect(config(withGateType(window, 0, 'min_value.v1'))).toEqual({ x_unit: 'EUR' })
  })

  it('does not merge two members into one when a name is used', () => {
    expect(renamed({ a: 1, b: 2 }, 'a', 'b')).toBeUndefined()
    expect(Object.entries(renamed({ a: 1, b: 2 }, 'a', 'c') ?? {})).toEqual([
      ['c', 1],
      ['b', 2],
    ])
  })

  it('lists the members that have no field', () => {
    expect(otherMembers(DRAFT, ['policy_id', 'selector', 'gates'])).toEqual(['x_note'])
    expect(otherMembers(7, [])).toEqual([])
  })
})
