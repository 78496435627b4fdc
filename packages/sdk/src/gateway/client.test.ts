import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { type JoinCertificate, seedSigner } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import { type Reply, type TestServer, listen } from '../http/http-server.suite.ts'
import { createAuthorityClient } from '../authority/client.ts'
import { type GatewayClient, type GatewayOptions, createGatewayClient } from './client.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

async function connect(
  reply: (body: string) => Reply,
  options: Partial<GatewayOptions> = {},
): Promise<{ client: GatewayClient; server: TestServer }> {
  server = await listen((request) => reply(Buffer.from(request.body).toString()))
  return { client: createGatewayClient({ url: server.url, token: 'secret-token', retry: false, ...options }), server }
}

const certificate = (id: string): JoinCertificate => ({ cert_id: id }) as unknown as JoinCertificate

const decision = (reasons: readonly string[], network = 'n') => ({
  trusted: reasons.length === 0,
  reasons,
  findings: reasons.map(() => ({ code: 'no_signatures' })),
  evaluation: {
    evaluated_at: '2030-01-01T00:00:00Z',
    policy_revision: null,
    network,
    issuer: null,
    crl_sequence: 1,
    crl_next_update: null,
    recheck_after: null,
  },
})

describe('evaluate', () => {
  it('sends the credential and gives a verdict that cannot be overlooked', async () => {
    const { client, server } = await connect(() => ({ json: decision(['NoSignatures']) }))
    const verdict = await client.evaluate(certificate('c'))
    expect(verdict).toMatchObject({ trusted: false, reasons: ['no_signatures'], cause: 'refuse' })
    expect(server.received[0]?.headers.authorization).toBe('Bearer secret-token')
  })

  it('has the certificate that is trusted', async () => {
    const { client } = await connect(() => ({ json: decision([]) }))
    expect(await client.evaluate(certificate('c'))).toMatchObject({ trusted: true, certificate: { cert_id: 'c' } })
  })

  it('says that a gateway without a current list does not know', async () => {
    const findings = [{ code: 'network_policy_rejected', causes: ['crl_stale'] }]
    const { client } = await connect(() => ({ json: { ...decision(['NetworkPolicyRejected']), findings } }))
    expect(await client.evaluate(certificate('c'))).toMatchObject({ reasons: ['crl_stale'], cause: 'unavailable' })
  })

  it('refuses an answer that trusts and gives reasons', async () => {
    const { client } = await connect(() => ({ json: { ...decision(['Expired']), trusted: true } }))
    await expect(client.evaluate(certificate('c'))).rejects.toMatchObject({ name: 'ResponseError' })
  })
})

describe('evaluateAll', () => {
  it('splits above the bound and keeps the order', async () => {
    const reply = (body: string): Reply => {
      const { certificates } = JSON.parse(body) as { certificates: { cert_id: string }[] }
      return { json: { results: certificates.map(({ cert_id }) => decision([], cert_id)) } }
    }
    const { client, server } = await connect(reply)
    const ids = Array.from({ length: 300 }, (_, index) => `c${index}`)
    const verdicts = await client.evaluateAll(ids.map(certificate))
    expect(verdicts.map(({ decision: found }) => found?.evaluation.network)).toEqual(ids)
    expect(server.received).toHaveLength(3)
  })

  it('refuses an answer with too few results', async () => {
    const { client } = await connect(() => ({ json: { results: [] } }))
    await expect(client.evaluateAll([certificate('a')])).rejects.toMatchObject({ name: 'ResponseError' })
  })
})

describe('a refusal', () => {
  it('names the gateway, its class and its reason', async () => {
    const body = { error: 'Not yours.', code: 'forbidden', reason: 'network_scope', request_id: 'r' }
    const { client } = await connect(() => ({ status: 403, json: body }))
    await expect(client.evaluate(certificate('c'))).rejects.toMatchObject({
      name: 'ForbiddenError',
      service: 'gateway',
      code: 'network_scope',
      message: 'Not yours.',
    })
  })

  it.each([
    [503, 'audit_unavailable'],
    [502, 'authority_unreachable'],
    [429, 'quota_exceeded'],
  ])('of uncertain outcome (%d %s) is reported, and a change is not sent again', async (status, reason) => {
    const body = { error: 'Not now.', code: 'unavailable', reason, request_id: 'r', outcome_uncertain: true }
    const { server } = await connect(() => ({ status, json: body, headers: { 'Retry-After': '0' } }))
    const signer = await seedSigner('op', testSeed('op'))
    const operator = { signer, audience: signer.publicKey }
    const through = { url: server.url, token: 'secret-token', network: 'net' }
    const authority = createAuthorityClient({ through, operator, retry: { firstDelayMs: 1 } })
    const { enrollment, attestations, crl } = authority
    for (const change of [
      () => enrollment.invite({ roles: ['role:client'] }),
      () => attestations.issue({ subject_id: 's', roles: ['role:client'] }),
    ]) {
      server.received.length = 0
      await expect(change()).rejects.toMatchObject({ status, code: reason, outcomeUncertain: true })
      expect(server.received).toHaveLength(1)
    }
    server.received.length = 0
    await expect(crl.current()).rejects.toMatchObject({ status })
    expect(server.received).toHaveLength(status === 502 ? 1 : 5)
  })

  it('never shows the credential', async () => {
    const { client } = await connect(() => ({ status: 500, raw: 'no' }))
    const error = await client.networks().catch((found: unknown) => found)
    expect(inspect([error, client], { depth: 9, showHidden: true })).not.toContain('secret-token')
    const broken = createGatewayClient({ url: 'http://127.0.0.1:1', token: 'secret\ntoken' })
    const refused = await broken.networks().catch((found: unknown) => found)
    expect(inspect(refused)).not.toContain('secret\ntoken')
    expect(refused).toMatchObject({ name: 'UsageError' })
  })
})
