import { describe, expect, it } from 'vitest'
import { requestOfApproval } from '../approvals/bound-request.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import { readJson } from '../canonical/read-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { FormError } from '../reading/schema.ts'
import { asJson } from '../signing/verify-any.ts'
import { readReceived, receivedDigest, verifyReceived } from '../signing/received.ts'
import core from '../vectors/core.json' with { type: 'json' }
import examples from '../vectors/approvals.json' with { type: 'json' }
import { readApprovalEntry } from './approval-entry.ts'
import { approvalRequestForm } from './approval-request.ts'
import { readApprovalStatement } from './approval-statement.ts'

// Holds: the worked examples of protocol/approvals keep their bytes, digests and signatures, and no other form is read.

const keyOf = (name: string): string => core.keys.find((key) => key.name === name)?.public_key ?? ''
const signed = (name: 'request' | 'statement'): JsonObject => {
  const { text, key_id, sig } = examples[name]
  return { ...(readJson(text) as JsonObject), signature: { key_id, sig } }
}

describe('the worked examples', () => {
  it('of what an approval is for has its bytes and digest', () => {
    const question = readJson(examples.question.text) as JsonObject
    const { asker, issuer_sovereign_id, subject_id, audience } = question
    const built = requestOfApproval({
      asker: asker as never,
      context: {
        agreement_id: 'another one',
        parent_kind: 'attestation',
        requester_sovereign_id: 'agent-7',
        provider_sovereign_id: 'EXAMPLE-NET',
        requested_capability: 'payment.send',
        request_parameters: { ...(question['request_parameters'] as JsonObject), mcp: { meta_digest: 'x' } },
        requested_at: '2030-01-02T12:00:00Z',
        context_freshness_seq: 4,
        attributes: { chancery_request: { audience: audience ?? null } },
      },
      issuer_sovereign_id: issuer_sovereign_id as string,
      subject_id: subject_id as string,
      resource_id: null,
      unbound: [{ text: 'request_parameters.mcp', segments: ['request_parameters', 'mcp'] }],
    })
    expect(canonicalJson(built)).toBe(examples.question.text)
    expect(digestOf(built)).toBe(examples.question.sha256)
  })

  it('of a request and of a statement verify under their signers alone', async () => {
    const request = readReceived(approvalRequestForm, signed('request'))
    expect(receivedDigest(request)).toBe(examples.request.sha256)
    expect(await verifyReceived(request, [keyOf('na')])).toEqual({ ok: true })
    expect((await verifyReceived(request, [keyOf('operator')])).ok).toBe(false)
    const statement = readApprovalStatement(signed('statement'))
    expect(receivedDigest(statement)).toBe(examples.statement.sha256)
    expect(await verifyReceived(statement, [statement.record.public_key])).toEqual({ ok: true })
    expect(statement.record.approval_request_digest).toBe(examples.request.sha256)
    expect(request.record.request_digest).toBe(examples.question.sha256)
  })
})

describe('a statement', () => {
  const good = signed('statement')

  it.each<[string, JsonValue]>([
    ['no object', 'x'],
    ['no member', {}],
    ['another type', { ...good, type: 'chancery.request.v1' }],
    ['another verdict', { ...good, verdict: 'maybe' }],
    ['a member more', { ...good, extra: 1 }],
    ['a longer reason', { ...good, reason: 'x'.repeat(501) }],
    ['an empty reason', { ...good, reason: '' }],
    ['no signature', { ...good, signature: null }],
    ['a signature of another name', { ...good, signature: { ...(good['signature'] as JsonObject), key_id: 'ops-2' } }],
    ['an id that is no UUID', { ...good, statement_id: '5' }],
  ])('with %s is refused', (_what, value) => {
    expect(() => readApprovalStatement(value)).toThrow(FormError)
  })

  it('may have a reason of 500 characters with line breaks', () => {
    expect(readApprovalStatement({ ...good, reason: `a\n${'ü'.repeat(498)}` }).record.verdict).toBe('approve')
  })
})

it('an entry has every member, and no other event', () => {
  const entry = {
    approval_id: 'a99c0000-0000-4000-8000-000000000001',
    event: 'expired',
    at: '2030-01-03T12:00:00Z',
    state: 'expired',
    decision_id: 'd-1',
    approval_request: null,
    statement: null,
    approver: null,
    use_until: null,
    cause: 'time_limit',
  } as const
  expect(asJson(readApprovalEntry(entry))).toEqual(entry)
  for (const name of Object.keys(entry)) {
    const { [name as 'event']: _left, ...rest } = entry
    expect(() => readApprovalEntry(rest), name).toThrow(FormError)
  }
  expect(() => readApprovalEntry({ ...entry, event: 'forgotten' })).toThrow(FormError)
})
