import type { Attestation, JsonObject } from '@chancery/protocol'
import { accepted, enroll, newNodeCaller } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DecidingGateway, startDecidingGateway } from '../decisions/deciding-gateway.suite.ts'
import { AUDIENCE, type ProvingNode, askCheck, checkUrl, provenHeaders } from './checked-gateway.suite.ts'

/**
 * Holds: a route with a capability passes only with a signed decision of the authority on this node and this resource;
 * a decision is used again for the same node only; an attestation in a proof counts only with its signature.
 */
const POLICY = {
  check: {
    audience: AUDIENCE,
    routes: [
      {
        method: 'POST',
        path: '/printers/{printer}/jobs',
        capability: 'print',
        resource: { type: 'printer', id: '{printer}' },
      },
      { method: 'DELETE', path: '/printers/{printer}', capability: 'remove' },
      { method: 'GET', path: '/printers' },
    ],
  },
}
const SETTINGS = { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: 'forwarded' }

describe.each(['relay', 'operator'] as const)('with the key of a %s', (kind) => {
  let setup: DecidingGateway
  let node: ProvingNode
  let stranger: ProvingNode
  let attested: ProvingNode
  let second: Attestation

  beforeAll(async () => {
    setup = await startDecidingGateway({ kind, policy: POLICY, settings: SETTINGS, state: 'new' })
    const join = async (name: string): Promise<ProvingNode> => {
      const caller = await newNodeCaller(setup.na.url, name, setup.clock)
      return { signer: caller.signer, certificate: await enroll(setup.na, caller, { roles: ['role:client'] }) }
    }
    node = await join('known')
    stranger = await join('stranger')
    const known = await setup.attest({ subject_public_key: node.signer.publicKey })
    const claims = { capabilities: ['print'] }
    const subject = { subject_id: 'agent-8', subject_public_key: stranger.signer.publicKey }
    const body = { ...subject, roles: ['role:client'], validity_hours: 24, claims }
    const issue = async (): Promise<Attestation> =>
      accepted(await setup.na.as('privileged')('POST', '/admin/attestations', body), 201) as unknown as Attestation
    attested = { ...stranger, attestation: await issue() }
    second = await issue()
    await setup.gateway.reload(await setup.policy({ subjects: { [`node:${node.certificate.cert_id}`]: known } }))
  })
  afterAll(() => setup.stop())
  beforeEach(() => {
    setup.clock.advance(2)
    setup.asked.length = 0
    setup.change = (answer) => answer
  })

  async function ask(by: ProvingNode, method: string, target: string) {
    const headers = await provenHeaders(by, { method, target, now: setup.clock.now() })
    const asked = { 'x-forwarded-method': method, 'x-forwarded-uri': target, 'x-original-length': '0' }
    return askCheck(checkUrl(setup.gateway), { path: '/check?any=1', headers: { ...headers, ...asked } })
  }

  it('asks once for the same node and resource, and passes the id of the decision', async () => {
    const first = await ask(node, 'POST', '/printers/p1/jobs')
    expect([first.status, first.reason]).toEqual([200, undefined])
    const again = await ask(node, 'POST', '/printers/p1/jobs?copies=2')
    expect([again.status, again.headers['chancery-decision']]).toEqual([200, first.headers['chancery-decision']])
    expect(setup.asked).toHaveLength(1)
    const context = setup.asked[0]?.['context'] as JsonObject | undefined
    expect(context?.['request_parameters']).toEqual({
      resource: { type: 'printer', id: 'p1', properties: { printer: 'p1' } },
    })
    expect(first.headers['chancery-decision']).toMatch(/^[\w-]+$/)
    expect((await ask(node, 'POST', '/printers/p2/jobs')).status).toBe(200)
    expect(setup.asked).toHaveLength(2)
    setup.clock.advance(301)
    expect((await ask(node, 'POST', '/printers/p1/jobs')).status).toBe(200)
    expect(setup.asked).toHaveLength(3)
  })

  it('asks once for identical requests at the same time, and again when the first gets no decision', async () => {
    const askMany = async (target: string) => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => ask(node, 'POST', target)))
      return answers.map(({ status, headers }) => [status, headers['chancery-decision']] as const)
    }
    const together = await askMany('/printers/p3/jobs')
    expect(new Set(together.map(([status]) => status))).toEqual(new Set([200]))
    expect(new Set(together.map(([, id]) => id)).size).toBe(1)
    expect(setup.asked).toHaveLength(1)
    setup.asked.length = 0
    let isCut = false
    setup.change = (answer) => {
      if (isCut) return answer
      isCut = true
      return undefined
    }
    const answers = await askMany('/printers/p4/jobs')
    const statuses = answers.map(([status]) => status)
    expect(statuses.toSorted()).toEqual([...Array.from({ length: 11 }, () => 200), 503])
    // All that waited for the first one asked at the same time: each question after it gave one decision.
    const decisions = new Set(answers.filter(([status]) => status === 200).map(([, id]) => id))
    expect(setup.asked).toHaveLength(1 + decisions.size)
    expect(decisions.size).toBeGreaterThan(1)
  })

  it('takes a genuine attestation of a proof of profile v2, and no other', async () => {
    expect(await ask(stranger, 'POST', '/printers/p1/jobs')).toMatchObject({ status: 403, reason: 'subject_unknown' })
    expect(await ask(attested, 'POST', '/printers/p1/jobs')).toMatchObject({ status: 200 })
    expect(setup.asked).toHaveLength(1)
    const forged = { ...(attested.attestation as Attestation), attestation_id: 'another' }
    expect(await ask({ ...stranger, attestation: forged }, 'POST', '/printers/p1/jobs')).toMatchObject({
      status: 403,
      reason: 'subject_unknown',
    })
    const bound = { ...(attested.attestation as Attestation), subject_public_key: node.signer.publicKey }
    expect(await ask({ ...stranger, attestation: bound }, 'POST', '/printers/p1/jobs')).toMatchObject({
      status: 401,
      reason: 'attestation_not_bound',
    })
    expect(setup.asked).toHaveLength(1)
  })

  it('hands over the proof of profile v2 as it came, and reuses the decision for this attestation only', async () => {
    const first = await ask(attested, 'POST', '/printers/p5/jobs')
    expect(first.status).toBe(200)
    const [asked] = setup.asked
    const { attestation_id } = attested.attestation as Attestation
    expect(asked?.['attestation_id']).toBe(attestation_id)
    const carried = asked?.['on_behalf_of'] as JsonObject | undefined
    if (kind === 'operator') expect(carried).toBeUndefined()
    else {
      const { 'chancery-attestation': text = '' } = await provenHeaders(attested, {
        target: '/',
        now: setup.clock.now(),
      })
      expect(carried).toMatchObject({ method: 'POST', request_target: '/printers/p5/jobs', attestation: text })
      expect(carried?.['signature_input']).toContain('tag="chancery-node-v2"')
    }
    const again = await ask(attested, 'POST', '/printers/p5/jobs')
    expect(again.headers['chancery-decision']).toBe(first.headers['chancery-decision'])
    expect(setup.asked).toHaveLength(1)
    const other = await ask({ ...stranger, attestation: second }, 'POST', '/printers/p5/jobs')
    expect([other.status, setup.asked.length]).toEqual([200, 2])
    expect(other.headers['chancery-decision']).not.toBe(first.headers['chancery-decision'])
  })

  it('does not pass on a denial, and asks nothing for a route without a capability', async () => {
    const denied = await ask(node, 'DELETE', '/printers/p1')
    expect([denied.status, denied.reason]).toEqual([403, 'decision_denied'])
    setup.asked.length = 0
    const read = await ask(stranger, 'GET', '/printers')
    expect([read.status, read.headers['chancery-decision'], setup.asked.length]).toEqual([200, '', 0])
  })

  it('is closed when the authority does not answer, or with a decision on something else', async () => {
    setup.change = () => undefined
    expect(await ask(node, 'POST', '/printers/p7/jobs')).toMatchObject({ status: 503, reason: 'authority_unreachable' })
    let earlier: JsonObject | undefined
    setup.change = (answer) => (earlier ??= answer)
    expect((await ask(node, 'POST', '/printers/p8/jobs')).status).toBe(200)
    expect(await ask(node, 'POST', '/printers/p9/jobs')).toMatchObject({ status: 503, reason: 'decision_unverified' })
  })
})
