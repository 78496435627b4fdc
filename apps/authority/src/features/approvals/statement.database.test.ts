import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JsonObject, asJson, sha256Hex, toUtf8, verifySignature } from '@chancery/protocol'
import { accepted, newNodeCaller, refused, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Holding, type StatementChanges, approvalGate, detailOf, openHolding } from './approvals.suite.ts'

// Holds: only an eligible person, with its own key, about exactly this request and once, moves an approval.

const UNKNOWN = 'a99c0000-0000-4000-8000-00000000ffff'
const calls: { headers: Record<string, unknown>; text: string }[] = []
const receiver = createServer((request, response) => {
  let text = ''
  request.on('data', (piece: Buffer) => (text += piece.toString()))
  request.on('end', () => {
    calls.push({ headers: request.headers, text })
    response.writeHead(calls.length === 1 ? 500 : 204).end()
  })
})
let h: Holding
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const settings = {
    NA_APPROVAL_WEBHOOK_URL: `http://127.0.0.1:${port}/hook`,
    NA_APPROVAL_WEBHOOK_ADDRESSES: 'loopback',
    NA_APPROVALS_MAX_PENDING: '40',
    NA_APPROVALS_MAX_PENDING_PER_ASKER: '3',
  }
  h = await openHolding({ settings })
})
afterAll(async () => {
  await h.na.stop()
  receiver.close()
})

async function held(config: JsonObject = {}): Promise<string> {
  return (await h.agent(await h.rule(approvalGate(config)))).hold({ amount: 7, note: 'SECRET' })
}

describe('POST /admin/approvals/{approval_id}/approve', () => {
  it('200: stores the statement; the same one again changes nothing', async () => {
    const id = await held({ approvers: [{ kind: 'operators', count: 2 }] })
    const statement = asJson(await h.statement(id, 'privileged'))
    const post = () => h.na.as('privileged')('POST', `/admin/approvals/${id}/approve`, { statement })
    const { approval } = accepted(await post()) as unknown as { approval: JsonObject }
    expect(approval).toMatchObject({ state: 'pending', needed: [{ count: 2, given: 1 }] })
    expect(accepted(await post())['approval']).toEqual(approval)
    // The same person again, in other words.
    expect(accepted(await h.state(id, 'privileged'))['approval']).toEqual(approval)
    expect(accepted(await h.state(id, 'second'))['approval']).toMatchObject({ state: 'approved' })
    expect((await h.events(id)).map(({ event }) => event)).toEqual(['requested', 'stated', 'approved'])
  })

  it('400: a statement of another form', async () => {
    const id = await held()
    const statement = asJson(await h.statement(id, 'privileged'))
    const post = (body: JsonObject) => h.na.as('privileged')('POST', `/admin/approvals/${id}/approve`, body)
    refused(await post({}), 400, 'invalid_statement')
    refused(await post({ statement: { ...statement, more: 1 } }), 400, 'invalid_statement')
  })

  it.each<[string, StatementChanges | (() => Promise<StatementChanges>)]>([
    ['verdict_mismatch', { verdict: 'deny' }],
    ['approver_mismatch', { approver: { kind: 'operator', id: 'op-privileged', sovereign_id: 'OTHER-NET' } }],
    ['approver_mismatch', { approver: { kind: 'member', id: 'op-privileged', sovereign_id: 'TEST-NET' } }],
    ['digest_mismatch', { approval_request_digest: '0'.repeat(64) }],
    ['digest_mismatch', { approval_id: UNKNOWN }],
    ['stale', { stated_at: '2026-01-01T00:00:00Z' }],
    ['signature_invalid', async () => ({ signer: await testSigner('op-privileged', 'another key') })],
  ])('422: %s', async (reason, changes) => {
    const id = await held()
    const given = typeof changes === 'function' ? await changes() : changes
    const approver =
      given.approver === undefined
        ? {}
        : { approver: { ...given.approver, id: h.na.signers['privileged']?.keyId ?? '' } }
    const statement = asJson(await h.statement(id, 'privileged', { ...given, ...approver }))
    const answer = await h.na.as('privileged')('POST', `/admin/approvals/${id}/approve`, { statement })
    expect(refused(answer, 422, 'statement_rejected')['details']).toEqual({ reason })
    const refusals = await h.na.auditEvents('approval_statement_refused')
    expect(refusals.at(-1)).toMatchObject({ details: { code: 'statement_rejected', reason } })
  })

  it('403: not_an_approver for a lower tier, approver_is_requester for the operator that asked', async () => {
    const id = await held({ approvers: [{ kind: 'operators', count: 1, tier: 'privileged' }] })
    refused(await h.state(id, 'standard'), 403, 'not_an_approver')
    const capability = await h.rule(approvalGate())
    const attestation_id =
      (await h.attest({ subject_id: 's', claims: { capabilities: [capability] } }))['attestation_id'] ?? null
    const asked = { attestation_id, requested_capability: capability, context: { request_parameters: {} } }
    const { approval } = accepted(await h.na.as('second')('POST', '/admin/boundary/evaluate', asked), 201) as {
      approval: JsonObject
    }
    const own = String(approval['approval_id'])
    refused(await h.state(own, 'second'), 403, 'approver_is_requester')
    accepted(await h.state(own, 'privileged'))
  })

  it('404: an unknown approval; 409: one that ended, and an id of another statement', async () => {
    const id = await held({ approvers: [{ kind: 'operators', count: 2 }] })
    const statement = await h.statement(id, 'privileged')
    const post = (path: string, body: unknown) =>
      h.na.as('privileged')('POST', path, { statement: asJson(body as object) })
    refused(await post(`/admin/approvals/${UNKNOWN}/approve`, statement), 404, 'approval_not_found')
    accepted(await post(`/admin/approvals/${id}/approve`, statement))
    const { statement_id } = statement
    const other = await h.statement(id, 'privileged', { statement_id, reason: 'other words' })
    refused(await post(`/admin/approvals/${id}/approve`, other), 409, 'conflict')
    accepted(await h.state(id, 'second', { verdict: 'deny' }))
    expect(refused(await h.state(id, 'standard'), 409, 'approval_closed')['details']).toEqual({ state: 'denied' })
  })
})

describe('POST /approvals/statement', () => {
  it('200: a member with the role, by the key of its attestation; others get 404', async () => {
    const id = await held({ approvers: [{ kind: 'members', count: 1, role: 'role:finance' }] })
    const person = async (roles: readonly string[]) => {
      const signer = await testSigner('person', `person ${roles.join()}`)
      const { attestation_id } = await h.attest({
        subject_id: roles.join(),
        roles,
        subject_public_key: signer.publicKey,
      })
      return { signer, attestation_id: String(attestation_id) }
    }
    const send = async ({ signer, attestation_id }: Awaited<ReturnType<typeof person>>) => {
      const approver = { kind: 'member', id: attestation_id, sovereign_id: 'TEST-NET' } as const
      const statement = asJson(await h.statement(id, 'privileged', { signer, approver }))
      return h.na.request('POST', '/approvals/statement', { body: { statement, attestation_id } })
    }
    refused(await send(await person(['role:client'])), 404, 'approval_not_found')
    const finance = await person(['role:finance'])
    const forged = await send({ ...finance, signer: await testSigner('person', 'another key') })
    expect(refused(forged, 422, 'statement_rejected')['details']).toEqual({ reason: 'signature_invalid' })
    expect(accepted(await send(finance))).toEqual({ approval_id: id, state: 'approved' })
  })
})

describe('POST /approvals/status and /approvals/cancel', () => {
  it('200: the key that asked; 404: every other key, as for an unknown id; 401: a proof of another action', async () => {
    const agent = await h.agent(await h.rule(approvalGate()))
    const approval_id = await agent.hold({ n: 1 })
    expect(accepted(await agent.post('/approvals/status', 'approval-status', { approval_id }))['state']).toBe('pending')
    const other = await newNodeCaller(h.na.url, 'other', h.clock)
    const audience = h.na.genesis.network_authority.public_key
    const body = { action: 'approval-status', audience, approval_id }
    refused(await other.post('/approvals/status', body), 404, 'approval_not_found')
    refused(await agent.post('/approvals/status', 'approval-cancel', { approval_id }), 401, 'node_auth_failed')
    expect(accepted(await agent.post('/approvals/cancel', 'approval-cancel', { approval_id }))['state']).toBe(
      'cancelled',
    )
    refused(await agent.post('/approvals/cancel', 'approval-cancel', { approval_id }), 409, 'approval_closed')
    expect(detailOf(await agent.send({ n: 1 }, { approval_id }))).toBe(`approval_cancelled: ${approval_id}`)
  })
})

describe('GET /admin/approvals', () => {
  it('200: pending ones first to last, by state, without a parameter of a request', async () => {
    const id = await held({ title: 'Listed' })
    const list = async (query: string) => {
      const { text } = await h.na.as('standard')('GET', `/admin/approvals${query}`)
      expect(text).not.toContain('SECRET')
      return (JSON.parse(text) as { approvals: JsonObject[] }).approvals
    }
    const pending = await list('')
    expect(pending.find(({ approval_id }) => approval_id === id)).toMatchObject({
      titles: ['Listed'],
      needed: 1,
      given: 0,
    })
    expect(new Set(pending.map(({ state }) => state))).toEqual(new Set(['pending']))
    accepted(await h.na.as('privileged')('POST', `/admin/approvals/${id}/cancel`, { reason: 'a mistake' }))
    expect((await list('?state=cancelled')).some(({ approval_id }) => approval_id === id)).toBe(true)
    const [first] = await list('?state=all&limit=1')
    expect(first).toBeDefined()
  })

  it('400: an unknown state or name', async () => {
    refused(await h.na.as('standard')('GET', '/admin/approvals?state=open'), 400, 'invalid_input')
    refused(await h.na.as('standard')('GET', '/admin/approvals?stat=all'), 400, 'unexpected_field')
  })
})

describe('limits', () => {
  it('201: approval_limit above the open approvals of one asker, and after a denial approval_denied', async () => {
    const agent = await h.agent(await h.rule(approvalGate()))
    const ids = [await agent.hold({ n: 1 }), await agent.hold({ n: 2 }), await agent.hold({ n: 3 })]
    expect(detailOf(await agent.send({ n: 4 }))).toBe('approval_limit')
    accepted(await h.state(ids[0] ?? '', 'privileged', { verdict: 'deny' }))
    expect(detailOf(await agent.send({ n: 1 }))).toBe(`approval_denied: ${ids[0] ?? ''}`)
    expect(await agent.hold({ n: 5 })).not.toBe(ids[0])
  })

  it('201: approval_limit above all open approvals, with a finding', async () => {
    const capability = await h.rule(approvalGate())
    for (let details = ''; details !== 'approval_limit';)
      details = detailOf(await (await h.agent(capability)).send({})).split(':')[0] ?? ''
    const { findings } = accepted(await h.na.as('standard')('GET', '/admin/findings')) as unknown as {
      findings: JsonObject[]
    }
    expect(findings.map(({ check }) => check)).toContain('approval_queue')
  }, 60_000)
})

describe('the webhook', () => {
  it('sends each event in order, signed, again after a failure, and without a text of the caller', async () => {
    const job = h.na.features.approvals.jobs.find(({ name }) => name === 'approval-webhook')
    const run = async (): Promise<void> => {
      h.clock.advance(20)
      await job?.run(new AbortController().signal)
    }
    await expect.poll(async () => run().then(() => calls.length), { timeout: 30_000 }).toBeGreaterThan(20)
    const key = h.na.genesis.network_authority.public_key
    const texts = calls.map(({ text }) => text)
    expect(texts.filter((text) => text === texts[0]).length).toBe(2)
    for (const { headers, text } of calls) {
      const message = `chancery-webhook-v1\n${String(headers['chancery-timestamp'])}\n${sha256Hex(text)}`
      expect(await verifySignature(key, toUtf8(message), String(headers['chancery-signature']))).toBe(true)
      expect(text).not.toContain('SECRET')
    }
  }, 60_000)
})
