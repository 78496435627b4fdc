import { GATEWAY_OPERATIONS } from '@chancery/contract'
import { readRevocationList } from '@chancery/protocol'
import { RefusedError, UsageError } from '@chancery/sdk'
import { type Client, createAuthorityClient } from '@chancery/sdk/authority'
import { createGatewayClient } from '@chancery/sdk/gateway'
import { accepted, startTestAuthority, startTestGateway, testClient, testPolicy, testSigner } from '@chancery/testkit'
import type { TestAuthority, TestGateway } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

const NETWORK = 'RÉSEAU/1'
const groups = [...new Set(GATEWAY_OPERATIONS.map(({ group }) => group))]
const caller = testClient('service', [NETWORK], { service_groups: groups, authority_admin: true })
const stranger = testClient('stranger', [NETWORK], { service_groups: ['network'] })
let na: TestAuthority
let gateway: TestGateway

beforeAll(async () => {
  na = await startTestAuthority({ network: NETWORK, settings: { EVIDENCE_STORE: 'on' } })
  const crl = readRevocationList(accepted(await na.request('GET', '/crl')))
  const network = {
    anchors: { [crl.issuer]: na.genesis.network_authority.public_key },
    crl: { ...crl },
    minimum_crl_sequence: crl.sequence,
    authority_url: na.url,
    allow_http: true,
  }
  gateway = await startTestGateway({ policy: testPolicy({ [NETWORK]: network }, [caller, stranger]) })
})
afterAll(async () => {
  await gateway.stop()
  await na.stop()
})

async function through(token: string, name = 'privileged', node = 'proxied-node'): Promise<Client> {
  const audience = na.genesis.network_authority.public_key
  const signer = na.signers[name]
  if (signer === undefined) throw new Error('no operator')
  return createAuthorityClient({
    through: { url: gateway.url, token, network: NETWORK },
    operator: { signer, audience },
    node: { signer: await testSigner(node), audience },
    retry: false,
  })
}

it('a whole life goes through the gateway: invite, join, roster, revocation', async () => {
  const client = await through(caller.token)
  const invite = await client.enrollment.invite({ roles: ['role:client'], max_validity_hours: 24 })
  const certificate = await client.enrollment.join({ invite_token: invite.token_id, validity_hours: 1 })
  expect(certificate.network_name).toBe(NETWORK)
  const roster = await client.enrollment.roster()
  expect(Object.keys(roster.nodes)).toEqual([certificate.cert_id])
  await client.crl.revoke({ cert_ids: [certificate.cert_id], reason: 'key_compromise' })
  expect((await client.crl.current()).revoked_certificates.map(({ certificate_id }) => certificate_id)).toEqual([
    certificate.cert_id,
  ])
  const events = await na.auditEvents('certificate_revoked')
  expect(events).toHaveLength(1)
})

it('a path parameter with slashes and letters reaches the authority as it was signed', async () => {
  const client = await through(caller.token, 'standard')
  // Found to be signed by an operator, and then to name nothing: a wrong signature would be a 401.
  await expect(client.evidence.resourceHeads('kv:vault/clé')).rejects.toMatchObject({ status: 404 })
})

it('public documents arrive byte for byte', async () => {
  for (const [operation, path] of [
    ['public-get-genesis', '/genesis'],
    ['crl-get-crl', '/crl'],
    ['public-sovereign-metadata', '/sovereign.json'],
  ]) {
    const target = `/v1/networks/${encodeURIComponent(NETWORK)}/services/${operation}`
    const answer = await gateway.request('GET', target, { token: caller.token })
    expect([answer.status, answer.text]).toEqual([200, (await na.request('GET', path ?? '')).text])
  }
})

it('a refusal of the authority is the authority’s own, with its code', async () => {
  const client = await through(caller.token, 'standard')
  const refused = client.crl.revoke({ cert_ids: ['nobody'], reason: 'key_compromise' })
  await expect(refused).rejects.toSatisfy(
    (error) => error instanceof RefusedError && error.status === 403 && error.code === 'insufficient_operator_tier',
  )
})

it('what the gateway does not forward is not sent', async () => {
  const client = await through(caller.token)
  await expect(client.evidenceLog.checkpoint()).rejects.toThrow(UsageError)
  await expect(
    client.agreements.offer(
      {
        responder_sovereign_id: 'partner',
        capabilities: ['read'],
        valid_from: '2026-01-01T00:00:00Z',
        valid_until: '2036-01-01T00:00:00Z',
        expires_at: '2036-01-01T00:00:00Z',
      },
      { idempotencyKey: 'once' },
    ),
  ).rejects.toThrow('a gateway does not forward idempotency keys')
})

it('a credential without the group gets no further than the gateway', async () => {
  const client = await through(stranger.token)
  await expect(client.recognitionPolicy.current()).rejects.toMatchObject({
    status: 403,
    service: 'gateway',
    code: 'service_scope',
  })
})

it('the client of the gateway says whether it is ready, and which networks a caller may use', async () => {
  const client = createGatewayClient({ url: gateway.url, token: caller.token, retry: false })
  expect(await client.ready()).toMatchObject({ ready: true })
  expect(await client.networks()).toMatchObject([{ name: NETWORK, ready: true }])
})
