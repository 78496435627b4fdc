import { AUDIT_EVENTS, ERRORS } from '@chancery/contract'
import { GATE_TYPE_NAMES, type JsonObject, REVOCATION_REASONS } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { nextStep } from './errors.ts'
import { eventActor, eventText } from './events.ts'
import { gateText } from './gates.ts'
import { reasonText } from './reasons.ts'

const SENTENCE = /^[A-Z].*[.?]$/s

describe('words', () => {
  it('has a sentence and a next step for every error code', () => {
    for (const [code, { status, message }] of Object.entries(ERRORS)) {
      // A message may begin with the name of a field.
      expect(message, code).toMatch(/\.$/)
      expect(nextStep(code, status), code).toMatch(SENTENCE)
    }
  })

  it('has a step for a code of a newer authority', () => {
    expect(nextStep('not_a_code', 418)).toContain('request id')
    expect(nextStep('toString', 404)).toContain('Check the id')
  })

  it('has a sentence for every audit event, with and without names', () => {
    for (const [type, { details }] of Object.entries(AUDIT_EVENTS)) {
      expect(eventText(type), type).toMatch(SENTENCE)
      expect(eventText(type, Object.fromEntries(details.map((name) => [name, 'x']))), type).toMatch(SENTENCE)
    }
    expect(eventText('certificate_issued', { roles: ['role:client', 'role:service'] })).toBe(
      'A node joined as role:client, role:service.',
    )
    expect(eventText('event_of_2030')).toBe('event_of_2030')
  })

  it('names who acted: an operator, an executor, a node or the authority', () => {
    const actor = (details: JsonObject, type = 'invite_created'): string => eventActor(type, details, 'op-1')
    expect(actor({ key_id: 'op-1', node_public_key: 'k' })).toBe('op-1 (you)')
    expect(actor({ key_id: 'op-2' })).toBe('op-2')
    expect(actor({ executor_sovereign_id: 'TREASURY' })).toBe('TREASURY')
    expect(actor({ node_public_key: 'abcdefghijkl' })).toBe('node abcdefgh')
    expect(actor({})).toBe('the authority')
    expect(actor({ key_id: 'op-1', revoked_by: 'op-2' }, 'operator_key_revoked')).toBe('op-2')
  })

  it('never says that a caller was who it claimed to be', () => {
    for (const type of ['admin_auth_failed', 'admin_auth_throttled'])
      expect(eventActor(type, { key_id: 'op-1' }, 'op-1')).toBe('claims to be op-1')
    expect(eventActor('admin_auth_failed', { key_id: 'missing' }, 'op-1')).toBe('an unknown caller')
    expect(eventActor('node_auth_failed', {}, 'op-1')).toBe('an unknown caller')
    expect(eventActor('evidence_rejected', { executor_sovereign_id: 'TREASURY' }, 'op-1')).toBe('claims to be TREASURY')
    expect(eventText('admin_auth_failed', { key_id: 'op-1' })).toMatch(/claims to be from the operator key op-1/)
  })

  it('has a sentence for every gate type and every reason', () => {
    for (const type of GATE_TYPE_NAMES) expect(gateText(type), type).not.toBe(type)
    for (const reason of REVOCATION_REASONS) expect(reasonText(reason)).toMatch(new RegExp(` · ${reason}$`))
    expect([gateText('other.v1'), reasonText('other')]).toEqual(['other.v1', 'other'])
  })
})
