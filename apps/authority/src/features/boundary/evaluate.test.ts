// oxlint-disable max-lines -- every status of one route, with a table of denials
import { createHash } from 'node:crypto'
import {
  boundaryDecisionForm,
  canonicalJson,
  justificationForm,
  readReceived,
  verifyJustification,
  verifyReceived,
} from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { ManualClock, accepted, refused, startTestAuthority } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const body = {
    subject_sovereign_id: 'bolt-net',
    subject_public_keys: ['tKuCPvDZZd8broYS70S4S1+zbk2Hv8ntbV4wsa+TDts='],
    scope: { allowed_roles: ['role:client'] },
  }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
})
afterAll(() => na.stop())

const evaluate = (body: JsonObject, on = na): Promise<TestResponse> =>
  on.as('standard')('POST', '/admin/boundary/evaluate', body)
const decisionOf = async (body: JsonObject): Promise<JsonObject> =>
  accepted(await evaluate(body), 201)['decision'] as JsonObject

async function attest(
  claims: JsonObject = { capabilities: ['secret.rotate'] },
  subject_id = 'vendor-1',
): Promise<JsonObject> {
  const body = { subject_id, roles: ['role:client'], claims, validity_hours: 24 }
  return accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
}
const ask = (attestation: JsonObject, members: JsonObject = {}): JsonObject => ({
  attestation_id: attestation['attestation_id'] ?? null,
  requested_capability: 'secret.rotate',
  ...members,
})

async function agree(on = na): Promise<JsonObject> {
  const request = {
    responder_sovereign_id: 'bolt-net',
    capabilities: ['ledger.read'],
    valid_from: '2026-01-02T00:00:00Z',
    valid_until: '2026-02-02T00:00:00Z',
    expires_at: '2026-02-02T00:00:00Z',
  }
  const offer = accepted(await on.as('standard')('POST', '/admin/agreements/offer', request), 201)
  return accepted(await on.as('standard')('POST', '/admin/agreements/accept', { offer }), 201)
}

/** Activates a policy during one test. */
async function withPolicy(members: JsonObject, work: (policy: JsonObject) => Promise<void>): Promise<void> {
  const body = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2090-01-01T00:00:00Z', ...members }
  const policy = accepted(await na.as('privileged')('POST', '/admin/boundary-policies', body), 201)
  const target = `/admin/boundary-policies/${String(policy['policy_id'])}`
  const version = policy['version'] ?? null
  accepted(await na.as('privileged')('POST', `${target}/activate`, { version }))
  try {
    await work(policy)
  } finally {
    accepted(await na.as('privileged')('POST', `${target}/deactivate`, { version }))
  }
}
const limit = (members: JsonObject = {}): JsonObject => ({
  gate_id: 'limit',
  gate_type: 'max_value.v1',
  order: 0,
  config: { path: 'request_parameters.amount', max: 100 },
  ...members,
})
const eventsOf = async (type: string): Promise<JsonObject[]> =>
  (await na.auditEvents(type)).map((event) => event['details'] as JsonObject)
const digest = (value: JsonValue): string => createHash('sha256').update(canonicalJson(value)).digest('hex')

describe('POST /admin/boundary/evaluate', () => {
  describe('201 on an attestation', () => {
    it('signs a grant with both bindings and a matching explanation', async () => {
      const attestation = await attest()
      const context = { context_id: 'ctx-1', request_parameters: { amount: 5 }, attributes: { region: 'eu' } }
      const answer = accepted(await evaluate(ask(attestation, { context })), 201)
      const decision = answer['decision'] as JsonObject
      const keys = [na.genesis.network_authority.public_key]
      const received = readReceived(boundaryDecisionForm, decision)
      expect(await verifyReceived(received, keys)).toEqual({ ok: true })
      const proof = readReceived(justificationForm, answer['justification_proof'] ?? null)
      expect(await verifyJustification(proof, keys, received.record)).toEqual({ ok: true })
      const { signatures: _signatures, ...body } = attestation
      expect(decision).toMatchObject({
        authorized: true,
        denial_reason: null,
        context_id: 'ctx-1',
        agreement_id: attestation['attestation_id'],
        decision_made_at: '2026-01-02T03:04:05.678000Z',
        decision_valid_until: '2026-01-02T03:09:05.678000Z',
        attestation_binding: {
          attestation_id: attestation['attestation_id'],
          subject_id: 'vendor-1',
          issuer_sovereign_id: 'TEST-NET',
          attestation_digest: digest(body),
          revocation_seq_checked: 0,
        },
      })
      expect((decision['policy_binding'] as JsonObject)['context_digest']).toBe(
        digest({
          ...context,
          agreement_id: attestation['attestation_id'] ?? null,
          attestation_id: attestation['attestation_id'] ?? null,
          context_freshness_seq: 0,
          parent_kind: 'attestation',
          provider_sovereign_id: 'TEST-NET',
          requested_at: '2026-01-02T03:04:05.678000Z',
          requested_capability: 'secret.rotate',
          requester_sovereign_id: 'vendor-1',
        }),
      )
    })

    it('lets policies read the claims and deny, and names the policy that denied', async () => {
      const attestation = await attest({ capabilities: ['secret.rotate'], apps: ['billing'] })
      const gates = [
        {
          gate_id: 'app',
          gate_type: 'attestation_claim.v1',
          order: 1,
          config: { path: 'attributes.app', claim: 'apps' },
        },
        limit(),
      ]
      await withPolicy({ policy_id: 'vendors', gates, selector: { capabilities: ['secret.*'] } }, async (policy) => {
        const body = (amount: number, app: string): JsonObject =>
          ask(attestation, { context: { request_parameters: { amount }, attributes: { app } } })
        expect((await decisionOf(body(100, 'billing')))['authorized']).toBe(true)
        const denied = await decisionOf(body(101, 'payroll'))
        expect(denied).toMatchObject({
          authorized: false,
          denial_reason: "policy gate 'vendors/limit' failed (+1 more)",
          policy_binding: {
            policies: [{ policy_id: 'vendors', version: 1, signed_by: 'na-test' }],
            resolution_status: 'resolved',
          },
        })
        const { signature: _signature, ...signed } = policy
        const set = digest([['vendors', 1, digest(signed)]])
        expect((denied['policy_binding'] as JsonObject)['policy_set_digest']).toBe(set)
      })
    })

    it.each<[string, () => Promise<JsonObject>, string]>([
      ['is not stored', () => Promise.resolve({ attestation_id: 'nobody' }), 'attestation_not_found'],
      [
        'was revoked',
        async () => {
          const attestation = await attest()
          const target = `/admin/attestations/${String(attestation['attestation_id'])}/revoke`
          accepted(await na.as('privileged')('POST', target, {}))
          return attestation
        },
        'attestation_revoked',
      ],
      [
        'was edited in the database',
        async () => {
          const attestation = await attest()
          const db = rowsOf(na.core.database)
          const id = String(attestation['attestation_id'])
          const row = await db
            .selectFrom('membership_attestations')
            .select('attestation_json')
            .where('attestation_id', '=', id)
            .executeTakeFirstOrThrow()
          await db
            .updateTable('membership_attestations')
            .set({ attestation_json: row.attestation_json.replace('secret.rotate', 'secret.delete') })
            .where('attestation_id', '=', id)
            .execute()
          return attestation
        },
        'attestation_invalid',
      ],
    ])('signs a denial for one that %s', async (_title, make, code) => {
      const decision = await decisionOf(ask(await make()))
      expect(decision).toMatchObject({ authorized: false, denial_reason: code })
      const keys = [na.genesis.network_authority.public_key]
      expect(await verifyReceived(readReceived(boundaryDecisionForm, decision), keys)).toEqual({ ok: true })
    })

    it('detects an edit and a revocation of an attestation that it has used before', async () => {
      const attestation = await attest()
      const id = String(attestation['attestation_id'])
      const db = rowsOf(na.core.database)
      const set = (members: { attestation_json?: string; status?: string }): Promise<unknown> =>
        db.updateTable('membership_attestations').set(members).where('attestation_id', '=', id).execute()
      const { attestation_json } = await db
        .selectFrom('membership_attestations')
        .select('attestation_json')
        .where('attestation_id', '=', id)
        .executeTakeFirstOrThrow()
      const reason = async (): Promise<unknown> => (await decisionOf(ask(attestation)))['denial_reason']
      expect(await reason()).toBeNull()
      await set({ attestation_json: attestation_json.replace('vendor-1', 'vendor-2') })
      expect(await reason()).toBe('attestation_invalid')
      await set({ attestation_json })
      expect(await reason()).toBeNull()
      await set({ status: 'revoked' })
      expect(await reason()).toBe('attestation_revoked')
    })

    it('gives each of many concurrent callers the decision on their own attestation', async () => {
      const subjects = Array.from({ length: 20 }, (_, index) => `vendor-${100 + index}`)
      const attested = await Promise.all(subjects.map((subject) => attest(undefined, subject)))
      const unknown = { ...attested[0], attestation_id: 'nobody' }
      const decisions = await Promise.all([...attested, unknown].map((each) => decisionOf(ask(each))))
      const bound = decisions.map((each) => (each['attestation_binding'] as JsonObject)['subject_id'])
      expect(bound).toEqual([...subjects, null])
    })

    it('denies a requester that is not the subject, and an expired attestation', async () => {
      const attestation = await attest()
      const borrowed = ask(attestation, { context: { requester_sovereign_id: 'vendor-2' } })
      expect((await decisionOf(borrowed))['denial_reason']).toBe('attestation_subject_mismatch')
      clock.advance(86_340)
      const close = await decisionOf(ask(attestation))
      expect(close).toMatchObject({ authorized: true, decision_valid_until: attestation['expires_at'] })
      clock.advance(61)
      expect((await decisionOf(ask(attestation)))['denial_reason']).toBe('attestation_expired')
    })

    it('records the subject and the reason, and no fact', async () => {
      const attestation = await attest()
      const context = { request_parameters: { amount: 'canary-71' }, attributes: { note: 'canary-72' } }
      await withPolicy({ policy_id: 'audited', gates: [limit()] }, async () => {
        const answer = await evaluate(ask(attestation, { context }))
        expect(answer.text).not.toMatch(/canary-7[12]/)
        const decision = accepted(answer, 201)['decision'] as JsonObject
        const events = await eventsOf('boundary_attestation_decision_made')
        expect(events.find((each) => each['decision_id'] === decision['decision_id'])).toEqual({
          decision_id: decision['decision_id'],
          context_id: decision['context_id'],
          attestation_id: attestation['attestation_id'],
          subject_id: 'vendor-1',
          requester_sovereign_id: 'vendor-1',
          requested_capability: 'secret.rotate',
          authorized: false,
          denial_reason: "policy gate 'audited/limit' failed",
          revocation_seq_checked: (decision['attestation_binding'] as JsonObject)['revocation_seq_checked'],
          applied_policies: ['audited@1'],
          asked_by: 'operator',
          issuer_sovereign_id: 'TEST-NET',
          failed_gates: ['audited/limit'],
          key_id: 'op-standard',
          remote_addr: '127.0.0.1',
          request_id: expect.any(String),
        })
        expect(JSON.stringify(events)).not.toMatch(/canary-7[12]/)
      })
    })

    it('returns the same decision for a repeated Idempotency-Key', async () => {
      const body = ask(await attest())
      const send = (): Promise<TestResponse> =>
        na.as('standard')('POST', '/admin/boundary/evaluate', body, { headers: { 'Idempotency-Key': 'evaluate-1' } })
      const [first, again] = [await send(), await send()]
      accepted(first, 201)
      expect(again.text).toBe(first.text)
    })
  })

  describe('201 on an agreement', () => {
    it('decides by the three gates and the policies, and records it', async () => {
      const agreement = await agree()
      const body = { agreement, requested_capability: 'ledger.read', context: { request_parameters: { amount: 500 } } }
      expect(await decisionOf(body)).toMatchObject({ authorized: true, policy_binding: { policies: [] } })
      await withPolicy({ policy_id: 'ledger', gates: [limit({ mode: 'observe' })] }, async () => {
        expect((await decisionOf(body))['authorized']).toBe(true)
      })
      await withPolicy({ policy_id: 'ledger', gates: [limit()] }, async () => {
        const decision = await decisionOf(body)
        expect(decision).toMatchObject({ authorized: false, denial_reason: "policy gate 'ledger/limit' failed" })
        expect(decision).not.toHaveProperty('attestation_binding')
        const events = await eventsOf('boundary_policy_decision_made')
        expect(events.find((each) => each['decision_id'] === decision['decision_id'])).toMatchObject({
          agreement_id: agreement['agreement_id'],
          applied_policies: ['ledger@2'],
          failed_gates: ['ledger/limit'],
          resolution_status: 'resolved',
          resolution_failure: null,
        })
      })
    })

    it('refuses an agreement without a treaty for its parties', async () => {
      const agreement = { ...(await agree()), responder_sovereign_id: 'nobody' }
      const { details } = refused(
        await evaluate({ agreement, requested_capability: 'ledger.read' }),
        422,
        'agreement_untrusted',
      ) as { details: JsonObject }
      expect(details['reason']).toBe('unknown_party')
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject, string]>([
      ['neither basis', {}, 'ambiguous_basis'],
      ['two nulls', { agreement: null, attestation_id: null, requested_capability: 'x' }, 'ambiguous_basis'],
      ['both bases', { agreement: {}, attestation_id: 'x', requested_capability: 'x' }, 'ambiguous_basis'],
      ['no capability', { attestation_id: 5 }, 'missing_boundary_fields'],
      ['a numeric capability', { attestation_id: 'x', requested_capability: 5 }, 'missing_boundary_fields'],
      ['a numeric id', { attestation_id: 5, requested_capability: 'x' }, 'invalid_attestation_id'],
      ['an empty id', { attestation_id: '', requested_capability: 'x' }, 'invalid_attestation_id'],
      [
        'an id that is too long',
        { attestation_id: 'x'.repeat(129), requested_capability: 'x' },
        'invalid_attestation_id',
      ],
      ['an empty agreement', { agreement: {}, requested_capability: 'x' }, 'missing_boundary_fields'],
      ['a malformed agreement', { agreement: { offer_id: 'x' }, requested_capability: 'x' }, 'invalid_agreement'],
      ['a list as context', { attestation_id: 'x', requested_capability: 'x', context: [] }, 'invalid_context'],
      [
        'another provider',
        { attestation_id: 'x', requested_capability: 'x', context: { provider_sovereign_id: 'other' } },
        'context_party_mismatch',
      ],
    ])('refuses %s', async (_title, body, code) => {
      const decided = async (): Promise<number> =>
        (await eventsOf('boundary_attestation_decision_made')).length +
        (await eventsOf('boundary_policy_decision_made')).length
      const before = await decided()
      refused(await evaluate(body), 400, code)
      expect(await decided()).toBe(before)
    })
  })

  it('401: only for operators', async () => {
    refused(await na.request('POST', '/admin/boundary/evaluate', { body: {} }), 401, 'admin_auth_failed')
  })
})

describe('revocation_seq_checked', () => {
  it('is the sequence of the current own feed, whatever was imported; 0 for an unknown attestation', async () => {
    const [leaver, member] = [await attest(), await attest()]
    accepted(await na.as('privileged')('POST', `/admin/attestations/${String(leaver['attestation_id'])}/revoke`, {}))
    const { sequence } = accepted(await na.request('GET', '/sovereign-revocation-feed'))
    const checked = async (attestation: JsonObject): Promise<JsonValue | undefined> =>
      ((await decisionOf(ask(attestation)))['attestation_binding'] as JsonObject)['revocation_seq_checked']
    expect(Number(sequence)).toBeGreaterThan(0)
    expect([await checked(member), await checked(leaver)]).toEqual([sequence, sequence])
    expect(await checked({ attestation_id: 'unknown' })).toBe(0)
  })
})

describe('NA_REQUIRE_PARENT_KIND=on', () => {
  it('refuses both decisions on an agreement without a kind, and requires nothing more of attestations', async () => {
    const strict = await startTestAuthority({
      clock,
      settings: { NA_CLOCK_CHECK: 'off', NA_REQUIRE_PARENT_KIND: 'on' },
    })
    try {
      const scope = { allowed_roles: ['role:client'] }
      const subject_public_keys = ['tKuCPvDZZd8broYS70S4S1+zbk2Hv8ntbV4wsa+TDts=']
      const treaty = { subject_sovereign_id: 'bolt-net', subject_public_keys, scope }
      accepted(await strict.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
      const agreement = await agree(strict)
      for (const route of ['evaluate', 'decide'])
        for (const context of [undefined, {}, { parent_kind: null }, { parent_kind: '' }]) {
          const body = { agreement, requested_capability: 'ledger.read', ...(context === undefined ? {} : { context }) }
          const answer = await strict.as('standard')('POST', `/admin/boundary/${route}`, body)
          expect(refused(answer, 400, 'invalid_context')['details']).toEqual({ field: 'parent_kind' })
        }
      const context = { parent_kind: 'agreement' }
      const named = { agreement, requested_capability: 'ledger.read', context }
      expect(accepted(await evaluate(named, strict), 201)['decision']).toMatchObject({ authorized: true })
      const member = { subject_id: 'v', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
      const attestation = accepted(await strict.as('privileged')('POST', '/admin/attestations', member), 201)
      expect(accepted(await evaluate(ask(attestation), strict), 201)['decision']).toMatchObject({ authorized: true })
    } finally {
      await strict.stop()
    }
  })
})
