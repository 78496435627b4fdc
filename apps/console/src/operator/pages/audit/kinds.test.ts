import { expect, it } from 'vitest'
import { AUDIT_KINDS, auditQuery } from './kinds.ts'

const asked = (text: string): unknown =>
  Object.fromEntries(
    Object.entries(auditQuery(new URLSearchParams(text), 'op-1')).filter(([, value]) => value !== undefined),
  )

it('has at most the 10 types per kind that one request may name, and no type twice', () => {
  const types = AUDIT_KINDS.flatMap(({ events }) => events)
  for (const { value, events } of AUDIT_KINDS) expect(events.length, value).toBeLessThanOrEqual(10)
  expect(new Set(types).size).toBe(types.length)
})

it('asks for the events of a kind, for one event, and for those of the own key', () => {
  expect(asked('')).toEqual({})
  expect(asked('kind=decisions')).toEqual({
    event: 'boundary_decision_made,boundary_policy_decision_made,boundary_attestation_decision_made',
  })
  expect(asked('kind=decisions&event=crl_published')).toEqual({ event: 'crl_published' })
  expect(asked('kind=yours&q=c-1&since=2026-01-01T00:00:00Z')).toEqual({
    key_id: 'op-1',
    subject: 'c-1',
    since: '2026-01-01T00:00:00Z',
  })
})
