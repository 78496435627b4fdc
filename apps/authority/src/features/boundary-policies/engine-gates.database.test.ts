// oxlint-disable max-lines -- both gate types that ask, from publication to decision, on one authority
import { createHash } from 'node:crypto'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, enroll, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activatePolicy, deactivatePolicy, intent } from './intents.suite.ts'

// Holds: publication, storage, decision and simulation of cedar.v1 and external_fact.v1 gates, on both databases; that
// a decision sees what was stored while it waited for an answer.

const SCHEMA = `entity Member; entity Secret;
action "secret.rotate" appliesTo { principal: Member, resource: Secret, context: {
  request_parameters: { id: String, copies: Long },
} };`
const RULES = `@id("few") permit(principal, action, resource) when { context.request_parameters.copies <= 5 };
@id("sum") forbid(principal, action, resource) when { context.request_parameters.copies + 9223372036854775800 < 0 };`

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

let na: TestAuthority
let source: Server
let answer = '{"result":true,"provenance":{"revision":"r7"}}'
let asked: string[] = []
/** Happens while a decision waits for the answer. */
let meanwhile: () => Promise<unknown> = () => Promise.resolve()
beforeAll(async () => {
  source = createServer((request, response) => {
    request.on('data', (bytes: Buffer) => asked.push(bytes.toString()))
    request.on('end', () => void meanwhile().finally(() => response.end(answer)))
  })
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
  na = await startTestAuthority({
    settings: { NA_FACT_ORIGINS: originOf(), EVIDENCE_STORE: 'on', NA_NODE_DECISIONS: 'own' },
  })
})
afterAll(async () => {
  source.close()
  await na.stop()
})

const originOf = (): string => `http://127.0.0.1:${(source.address() as AddressInfo).port}`

function cedarIntent(config: JsonObject = {}, members: JsonObject = {}): JsonObject {
  const gate = {
    gate_id: 'app-rules',
    gate_type: 'cedar.v1',
    order: 10,
    config: {
      policy_set_digest: sha256(RULES),
      schema_digest: sha256(SCHEMA),
      principal: { type: 'Member', id: 'requester_sovereign_id' },
      action: { type: 'Action', id: 'requested_capability' },
      resource: { type: 'Secret', id: 'request_parameters.id' },
      context: ['request_parameters'],
      ...config,
    },
  }
  return intent({ gates: [gate], texts: [RULES, SCHEMA], ...members })
}

function factIntent(config: JsonObject = {}): JsonObject {
  const gate = {
    gate_id: 'credit',
    gate_type: 'external_fact.v1',
    order: 0,
    config: {
      origin: originOf(),
      path: '/v1/data/credit',
      question: { input: { who: { fact: 'requester_sovereign_id' } } },
      answer: { path: 'result' },
      revision: { path: 'provenance.revision', equals: 'r7' },
      time_limit_ms: 1000,
      ...config,
    },
  }
  return intent({ gates: [gate] })
}

const publish = (body: JsonObject): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/boundary-policies', body)
const validate = (body: JsonObject): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/boundary-policies/validate', body)
const simulate = (body: JsonObject): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/boundary-policies/simulate', body)

async function attest(members: JsonObject = {}): Promise<JsonObject> {
  const body = {
    subject_id: 'vendor-1',
    roles: ['role:client'],
    claims: { capabilities: ['secret.rotate'] },
    validity_hours: 24,
    ...members,
  }
  return accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
}

/** The decision, and the trace entry of the last gate. */
async function decide(
  parameters: JsonObject,
  given?: JsonObject,
): Promise<{ decision: JsonObject; entry: JsonObject }> {
  const attestation = given ?? (await attest())
  const body = {
    attestation_id: attestation['attestation_id'] ?? null,
    requested_capability: 'secret.rotate',
    context: { request_parameters: parameters },
  }
  const { decision, justification_proof } = accepted(
    await na.as('standard')('POST', '/admin/boundary/evaluate', body),
    201,
  )
  const { trace } = justification_proof as JsonObject
  const entries = (trace as JsonObject)['entries'] as readonly JsonObject[]
  return { decision: decision as JsonObject, entry: entries.at(-1) ?? {} }
}

async function during(body: JsonObject, work: () => Promise<void>): Promise<void> {
  const policy = accepted(await publish(body), 201)
  await activatePolicy(na, policy)
  try {
    await work()
  } finally {
    await deactivatePolicy(na, policy)
  }
}

describe('a policy with a Cedar gate', () => {
  it('is stored with its texts, which are not part of the signed policy', async () => {
    const policy = accepted(await publish(cedarIntent()), 201)
    expect(policy['texts']).toBeUndefined()
    const read = await na.as('standard')('GET', `/admin/boundary-policy-texts/${sha256(RULES)}`)
    expect(accepted(read)).toEqual({ text_digest: sha256(RULES), text: RULES })
    // The same texts again, and a version that only names them.
    accepted(await publish(cedarIntent()), 201)
    accepted(await publish(cedarIntent({}, { texts: [] })), 201)
    const rows = await na.core.database.read.selectFrom('boundary_policy_texts').selectAll().execute()
    expect(rows).toHaveLength(2)
  })

  it.each([
    ['no digest', 'x'],
    ['another digest', 'a'.repeat(64)],
  ])('404 for a text with %s', async (_name, digest) => {
    refused(
      await na.as('standard')('GET', `/admin/boundary-policy-texts/${digest}`),
      404,
      'boundary_policy_text_not_found',
    )
  })

  it('400: names what Cedar finds in the texts', async () => {
    const wrong = 'permit(principal, action, resource) when { context.pages > 1 };'
    const body = cedarIntent({ policy_set_digest: sha256(wrong) }, { texts: [wrong, SCHEMA] })
    const { valid, issues } = accepted(await validate(body))
    expect(valid).toBe(false)
    expect(issues).toMatchObject([{ code: 'invalid_gate_config', gate_id: 'app-rules' }])
    refused(await publish(body), 400, 'boundary_policy_invalid')
  })

  it('400: needs its texts', async () => {
    refused(
      await publish(cedarIntent({ schema_digest: 'c'.repeat(64) }, { texts: [RULES] })),
      400,
      'boundary_policy_invalid',
    )
  })

  it.each<[string, JsonObject]>([
    ['that no gate names', { texts: [RULES, SCHEMA, 'other'] }],
    ['that is too large', { texts: ['x'.repeat(65_537)] }],
    ['that is no text', { texts: [7] }],
    ['with a null character', { texts: ['\0'] }],
    ['outside of a list', { texts: RULES }],
    ['of too many', { texts: Array.from({ length: 17 }, () => RULES) }],
  ])('400: refuses a text %s', async (_name, members) => {
    refused(await publish(cedarIntent({}, members)), 400, 'invalid_boundary_policy')
  })

  it('decides by Cedar, and refuses what Cedar does not have', async () => {
    await during(cedarIntent(), async () => {
      const good = await decide({ id: 's1', copies: 2 })
      expect(good.decision['authorized']).toBe(true)
      expect(good.entry).toMatchObject({
        gate_type: 'cedar.v1',
        reason: 'permitted by few',
        inputs: {
          engine: 'cedar',
          engine_version: '4.13.0',
          policy_set_digest: sha256(RULES),
          reason: ['few'],
          errors: [],
        },
      })
      expect(JSON.stringify(good.entry)).not.toContain('s1')
      const { passed } = accepted(await na.as('standard')('GET', '/admin/findings'))
      expect(passed).toContain('policy-cedar')
      const many = await decide({ id: 's1', copies: 6 })
      expect([many.decision['authorized'], many.entry['reason']]).toEqual([
        false,
        'no Cedar policy permits the request',
      ])
      const unfit = await decide({ id: 's1', copies: 2.5 })
      expect([unfit.decision['authorized'], unfit.entry['metadata']]).toMatchObject([
        false,
        { outcome: 'invalid_context' },
      ])
    })
  })

  it('denies when a rule cannot be evaluated, although Cedar allows', async () => {
    const rules = `permit(principal, action, resource);
@id("sum") forbid(principal, action, resource) when { context.request_parameters.copies + 9223372036854775807 < 0 };`
    await during(cedarIntent({ policy_set_digest: sha256(rules) }, { texts: [rules, SCHEMA] }), async () => {
      const { decision, entry } = await decide({ id: 's1', copies: 2 })
      expect(decision['authorized']).toBe(false)
      expect(entry).toMatchObject({
        reason: 'a Cedar policy could not be evaluated: sum',
        inputs: { decision: 'allow', errors: ['sum'] },
        metadata: { outcome: 'gate_error' },
      })
    })
  })

  it('cannot be activated once its text was changed in the database', async () => {
    const rules = `${RULES} // edited`
    const policy = accepted(
      await publish(cedarIntent({ policy_set_digest: sha256(rules) }, { texts: [rules, SCHEMA] })),
      201,
    )
    await na.core.database.write(async (tx) => {
      await tx.query
        .updateTable('boundary_policy_texts')
        .set({ text: 'permit(principal, action, resource);' })
        .where('text_digest', '=', sha256(rules))
        .execute()
    })
    const target = `/admin/boundary-policies/${String(policy['policy_id'])}/activate`
    const response = await na.as('privileged')('POST', target, { version: 1 })
    refused(response, 409, 'boundary_policy_activation_refused')
    expect(response.text).toContain('gate_type_unavailable')
  })

  it('is simulated with texts that are not stored', async () => {
    const rules = `${RULES} // not stored`
    const context = (copies: number): JsonObject => ({
      requested_capability: 'secret.rotate',
      requester_sovereign_id: 'vendor-1',
      request_parameters: { id: 's1', copies },
    })
    const body = cedarIntent({ policy_set_digest: sha256(rules) }, { texts: [rules, SCHEMA] })
    const contexts = [context(1), context(6), context(7)]
    expect(accepted(await simulate({ intent: body, contexts }))).toMatchObject({ unchanged: 1, newly_denied: 2 })
    const rows = await na.core.database.read.selectFrom('boundary_policy_texts').select('text').execute()
    expect(rows.map(({ text }) => text)).not.toContain(rules)
  })
})

describe('a policy with an external fact', () => {
  it('400: may only ask configured origins', async () => {
    const body = factIntent({ origin: 'https://elsewhere.example' })
    const { issues } = accepted(await validate(body))
    expect(issues).toMatchObject([{ code: 'invalid_gate_config', gate_id: 'credit' }])
    refused(await publish(body), 400, 'boundary_policy_invalid')
  })

  it('decides by the answer, which the proof contains, and a simulation uses it again', async () => {
    const body = factIntent()
    await during(body, async () => {
      asked = []
      const good = await decide({})
      expect(good.decision['authorized']).toBe(true)
      expect(asked).toEqual(['{"input":{"who":"vendor-1"}}'])
      expect(good.entry['inputs']).toMatchObject({ origin: originOf(), answer: true, revision: 'r7' })
      answer = '{"result":false,"provenance":{"revision":"r7"}}'
      expect((await decide({})).decision['authorized']).toBe(false)
      answer = '{"result":true,"provenance":{"revision":"r8"}}'
      expect((await decide({})).entry['reason']).toBe('the source has another revision')
      answer = '{"provenance":{"revision":"r7"}}'
      expect((await decide({})).decision['authorized']).toBe(false)
      asked = []
      const same = { ...body, description: 'the same rules' }
      const replayed = accepted(await simulate({ intent: same, decisions: { newest: 4 } }))
      expect(replayed).toMatchObject({ total: 4, unchanged: 4 })
      expect(replayed['external_facts_missing']).toBeUndefined()
      const other = { ...body, gates: (factIntent({ path: '/v1/other' })['gates'] ?? null) as JsonObject }
      expect(accepted(await simulate({ intent: other, decisions: { newest: 4 } }))).toMatchObject({
        newly_denied: 1,
        external_facts_missing: 4,
      })
      const context = { requested_capability: 'secret.rotate', requester_sovereign_id: 'vendor-1' }
      const gate = `${String(body['policy_id'])}/credit`
      const contexts = [true, false].map((fact) => ({ ...context, external_facts: { [gate]: fact } }))
      expect(accepted(await simulate({ intent: same, contexts }))).toMatchObject({ unchanged: 2 })
      expect(asked).toEqual([])
    })
  })

  it('asks no other system about a request that its basis denies', async () => {
    await during(factIntent(), async () => {
      const attestation = await attest()
      asked = []
      const body = { attestation_id: attestation['attestation_id'] ?? null, requested_capability: 'secret.delete' }
      const { decision } = accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', body), 201)
      expect((decision as JsonObject)['authorized']).toBe(false)
      expect(asked).toEqual([])
    })
  })
})

describe('what is stored while a decision waits for an answer', () => {
  const GOOD = '{"result":true,"provenance":{"revision":"r7"}}'

  async function duringAnswer(work: () => Promise<unknown>, decideThen: () => Promise<void>): Promise<void> {
    answer = GOOD
    let isDone = false
    meanwhile = async () => {
      await work()
      isDone = true
    }
    try {
      await decideThen()
      expect(isDone).toBe(true)
    } finally {
      meanwhile = () => Promise.resolve()
    }
  }

  it('denies by a revocation of the attestation', async () => {
    await during(factIntent(), async () => {
      const attestation = await attest()
      const revoke = async (): Promise<unknown> =>
        accepted(
          await na.as('privileged')('POST', `/admin/attestations/${String(attestation['attestation_id'])}/revoke`, {
            reason: 'unspecified',
          }),
        )
      await duringAnswer(revoke, async () => {
        const { decision, entry } = await decide({}, attestation)
        expect([decision['authorized'], entry['gate_name']]).toEqual([false, 'attestation_status'])
      })
    })
  })

  it('denies by a policy that was activated, also when its question was not asked', async () => {
    await during(factIntent(), async () => {
      const added = accepted(await publish(factIntent({ path: '/v1/data/other' })), 201)
      await duringAnswer(
        () => activatePolicy(na, added),
        async () => {
          const { decision } = await decide({})
          const failed = (decision['gate_results'] as readonly JsonObject[]).filter(({ passed }) => passed !== true)
          expect(failed).toMatchObject([
            { gate_name: `${String(added['policy_id'])}/credit`, detail: 'the source gave no answer: not_asked' },
          ])
          expect(decision['authorized']).toBe(false)
        },
      )
      await deactivatePolicy(na, added)
    })
  })

  it('refuses a node whose certificate was revoked', async () => {
    const node = await newNodeCaller(na.url, 'ask', systemClock)
    const { cert_id } = await enroll(na, node, { roles: ['role:client'] })
    const { attestation_id = null } = await attest({ subject_public_key: node.key })
    const audience = na.genesis.network_authority.public_key
    const asks = {
      action: 'boundary-request',
      audience,
      requested_capability: 'secret.rotate',
      cert_id,
      attestation_id,
    }
    await during(factIntent(), async () => {
      accepted(await node.post('/boundary/request', asks), 201)
      const revoke = async (): Promise<unknown> =>
        accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'cessation_of_operation' }))
      await duringAnswer(revoke, async () => {
        refused(await node.post('/boundary/request', asks), 403, 'certificate_revoked')
      })
    })
  })
})
