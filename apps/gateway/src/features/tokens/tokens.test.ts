import { generateKeyPairSync } from 'node:crypto'
import { type JsonObject, digestOf, readCompactJws, seconds, writeInstant } from '@chancery/protocol'
import { accepted } from '@chancery/testkit'
import type { GatewayResponse } from '@chancery/testkit'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { auditEvents } from '../../test-gateway.suite.ts'
import { ISSUER, RESOURCE, type TokenGateway, assertionOf, proofKey, proofOf } from './token-gateway.suite.ts'
import { startTokenGateway } from './token-gateway.suite.ts'

/**
 * Holds: a token is issued only on signed and stored decisions of the authority about exactly this request, once for each
 * assertion, and a library that knows nothing of us verifies it with the published keys.
 */
function refused(answer: GatewayResponse, status: number, error: string, reason: string): JsonObject {
  expect([answer.status, answer.body['error'], answer.body['chancery_reason']]).toEqual([status, error, reason])
  expect(answer.body['request_id']).toBe(answer.headers['x-request-id'])
  return answer.body
}

function claimsOf(answer: GatewayResponse): JsonObject {
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('access_token')])
  return readCompactJws(String(answer.body['access_token']))?.claims ?? {}
}

async function keySetOf({ setup }: TokenGateway): Promise<JSONWebKeySet> {
  const { status, text } = await setup.gateway.request('GET', '/oauth/jwks')
  expect(status).toBe(200)
  return JSON.parse(text) as JSONWebKeySet
}

describe.each(['relay', 'operator'] as const)('POST /oauth/token, with the key of a %s', (kind) => {
  let gateway: TokenGateway
  beforeAll(async () => {
    gateway = await startTokenGateway({ kind, state: 'new' })
  })
  afterAll(() => gateway.setup.stop())
  beforeEach(() => {
    gateway.setup.clock.advance(2)
    gateway.setup.asked.length = 0
    gateway.setup.change = (answer) => answer
  })
  const ask = (...given: Parameters<TokenGateway['ask']>): Promise<GatewayResponse> => gateway.ask(...given)

  it('200: jose verifies the token with the published keys, and refuses a changed, ended or foreign one', async () => {
    const answer = await ask({ form: { scope: 'append read' } })
    const token = String(answer.body['access_token'])
    const at = (now: bigint) => ({
      typ: 'at+jwt',
      issuer: ISSUER,
      audience: RESOURCE,
      algorithms: ['ES256'],
      currentDate: new Date(Number(now / 1000n)),
    })
    const keys = createLocalJWKSet(await keySetOf(gateway))
    const now = gateway.setup.clock.now()
    const { payload } = await jwtVerify(token, keys, at(now))
    expect(payload).toMatchObject({ scope: 'append read', cnf: { jkt: proofKey() }, sub: payload['client_id'] })
    await expect(jwtVerify(token, keys, at(now + seconds(121)))).rejects.toThrow('"exp"')
    await expect(jwtVerify(token, keys, { ...at(now), audience: 'https://other.example' })).rejects.toThrow('"aud"')
    await expect(jwtVerify(token, keys, { ...at(now), algorithms: ['EdDSA'] })).rejects.toThrow('alg')
    const [head, body, signature = ''] = token.split('.')
    const changed = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    await expect(jwtVerify(changed, keys, at(now))).rejects.toThrow('signature')
  })

  it('200: each scope has a stored decision that names the token, with its digest', async () => {
    const claims = claimsOf(await ask({ form: { scope: 'append read' } }))
    const { decisions } = claims['chancery'] as { decisions: readonly JsonObject[] }
    expect(decisions.map((each) => each['scope'])).toEqual(['append', 'read'])
    for (const { id, digest, scope } of decisions) {
      const path = `/admin/evidence?decision_id=${String(id)}&entry_kind=decision`
      const found = accepted(await gateway.setup.na.as('standard')('GET', path))
      const [{ payload }] = found['entries'] as unknown as [{ payload: { decision: JsonObject; context: JsonObject } }]
      const { signature: _signature, ...decision } = payload.decision
      expect([decision['context_id'], decision['authorized'], digestOf(decision)]).toEqual([
        claims['jti'],
        true,
        digest,
      ])
      const { access_token } = payload.context['attributes'] as { access_token: JsonObject }
      expect(access_token).toMatchObject({ issuer: ISSUER, resource: RESOURCE, scope, jkt: proofKey() })
    }
    const carried = gateway.setup.asked.map((each) => each['on_behalf_of'])
    if (kind === 'operator') expect(carried).toEqual([undefined, undefined])
    else expect(carried).toMatchObject([{ kind: 'client_assertion', audience: ISSUER }, { audience: ISSUER }])
  })

  it('200: a denied scope is left out and reported; without one that is granted 400 decision_denied', async () => {
    const answer = await ask({ form: { scope: 'never read' } })
    expect(claimsOf(answer)['scope']).toBe('read')
    expect(answer.body['chancery_denied']).toMatchObject([{ scope: 'never', reason: 'capability out of scope' }])
    const denied = refused(await ask({ form: { scope: 'never' } }), 400, 'invalid_scope', 'decision_denied')
    expect(denied['chancery_denied']).toMatchObject([{ scope: 'never' }])
  })

  it.each<[string, Record<string, string | undefined>, number, string, string]>([
    ['another grant', { grant_type: 'refresh_token' }, 400, 'unsupported_grant_type', 'grant_type'],
    ['no grant', { grant_type: undefined }, 400, 'invalid_request', 'grant_type_missing'],
    ['a second credential', { client_secret: 'x' }, 400, 'invalid_request', 'credentials_repeated'],
    ['no assertion', { client_assertion: undefined }, 401, 'invalid_client', 'assertion_missing'],
    ['a text as assertion', { client_assertion: 'x' }, 401, 'invalid_client', 'assertion_malformed'],
    ['another client', { client_id: 'x' }, 401, 'invalid_client', 'client_id_mismatch'],
    ['no resource', { resource: undefined }, 400, 'invalid_target', 'resource_missing'],
    ['another resource', { resource: `${RESOURCE}/` }, 400, 'invalid_target', 'resource_unknown'],
    ['no scope', { scope: undefined }, 400, 'invalid_scope', 'scope_missing'],
    ['two spaces', { scope: 'read  append' }, 400, 'invalid_scope', 'scope_malformed'],
    ['another scope', { scope: 'constructor' }, 400, 'invalid_scope', 'scope_unknown'],
    ['a user', { chancery_user_assertion: 'a.b.c' }, 400, 'invalid_request', 'user_assertion_malformed'],
  ])('refuses %s and asks nothing', async (_what, form, status, error, reason) => {
    refused(await ask({ form }), status, error, reason)
    expect(gateway.setup.asked).toHaveLength(0)
  })

  it('400: no proof, a proof for another address, of another key, or used before', async () => {
    refused(await ask({ proof: undefined }), 400, 'invalid_dpop_proof', 'dpop_missing')
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    refused(await ask({ proof: proofOf(pair, gateway.setup) }), 400, 'invalid_dpop_proof', 'dpop_key')
    const elsewhere = proofOf(pair, gateway.setup, { htu: 'https://other.example/oauth/token' })
    refused(await ask({ proof: elsewhere }), 400, 'invalid_dpop_proof', 'dpop_target')
    const old = proofOf(pair, gateway.setup, { iat: Number(gateway.setup.clock.now() / seconds(1)) - 61 })
    refused(await ask({ proof: old }), 400, 'invalid_dpop_proof', 'dpop_stale')
  })

  it('401: an assertion for another gateway, and one that was used', async () => {
    const other = await assertionOf(gateway.node, gateway.setup, { audience: 'https://other.example' })
    refused(await ask({ assertion: other }), 401, 'invalid_client', 'wrong_audience')
    const assertion = await assertionOf(gateway.node, gateway.setup)
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask({ assertion })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200))
      refused(answer, 401, 'invalid_client', 'assertion_replayed')
  })

  it('502: without an answer, with a changed decision, and with one that was not stored', async () => {
    gateway.setup.change = () => undefined
    refused(await ask(), 502, 'server_error', 'authority_unreachable')
    gateway.setup.change = (answer) => ({
      ...answer,
      decision: { ...(answer['decision'] as JsonObject), authorized: true },
    })
    refused(await ask({ form: { scope: 'never' } }), 502, 'server_error', 'decision_unverified')
    for (const decision_stored of [false, null]) {
      gateway.setup.change = (answer) => ({ ...answer, decision_stored })
      refused(await ask(), 502, 'server_error', 'decision_not_stored')
    }
  })

  it('audits token and decisions, and no secret', async () => {
    const answer = await ask({ form: { scope: 'read never' } })
    const claims = claimsOf(answer)
    const events = await auditEvents(gateway.setup.gateway)
    const [started, completed] = events.filter(({ request_id }) => request_id === answer.headers['x-request-id'])
    expect([started?.['phase'], completed?.['phase']]).toEqual(['started', 'completed'])
    expect(completed?.['context']).toMatchObject({
      oauth_resource: 'ledger',
      network: 'TEST-NET',
      decision_network: 'TEST-NET',
      token_id: claims['jti'],
      token_scope: 'read',
      token_jkt: proofKey(),
      token_expires_at: writeInstant(seconds(Number(claims['exp']))),
      decisions: [{ authorized: true }, { authorized: false }],
    })
    expect(JSON.stringify(events)).not.toContain(String(answer.body['access_token']).split('.')[2])
  })

  it('introspects a token until its attestation is revoked', async () => {
    const token = String((await ask()).body['access_token'])
    const introspect = (given: { readonly token?: string; readonly headers?: Record<string, string> }) =>
      gateway.setup.gateway.request('POST', '/oauth/introspect', {
        rawBody: `token=${token}`,
        ...given,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...given.headers },
      })
    const active = await introspect({ token: gateway.server.token })
    expect(active.body).toMatchObject({ active: true, token_type: 'DPoP', aud: RESOURCE })
    const basic = Buffer.from(`ledger:${gateway.server.token}`).toString('base64')
    expect((await introspect({ headers: { authorization: `Basic ${basic}` } })).body).toMatchObject({ active: true })
    const wrong = Buffer.from(`asker:${gateway.server.token}`).toString('base64')
    expect((await introspect({ headers: { authorization: `Basic ${wrong}` } })).status).toBe(401)
    const other = await introspect({ token: gateway.setup.asker.token })
    expect([other.status, other.body['reason']]).toEqual([403, 'introspection_scope'])
    const id = gateway.node.attestation.attestation_id
    accepted(await gateway.setup.na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, { reason: 'left' }))
    gateway.setup.clock.advance(11)
    expect((await introspect({ token: gateway.server.token })).body).toEqual({ active: false })
    refused(await ask(), 400, 'invalid_scope', 'decision_denied')
  })
})

describe('signing keys', () => {
  let gateway: TokenGateway
  beforeAll(async () => {
    // The clock moves by hours, and the list stays.
    gateway = await startTokenGateway({ kind: 'operator', network: { freshness: { max_age_seconds: 20_000 } } })
  })
  afterAll(() => gateway.setup.stop())

  it('are published before they sign, sign at their time, and stay while their tokens may be used', async () => {
    const { setup, oauth, keyEntry } = gateway
    const kids = async (): Promise<readonly string[]> => {
      const { keys } = await keySetOf(gateway)
      return keys.map(({ kid = '' }) => kid)
    }
    const signing = async (): Promise<string> => {
      setup.clock.advance(2)
      const answer = await gateway.ask()
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('access_token')])
      const token = String(answer.body['access_token'])
      return String(readCompactJws(token)?.header['kid'])
    }
    const reload = async (signing_keys: readonly JsonObject[]): Promise<readonly string[]> => {
      await setup.gateway.reload({ ...(await setup.policy()), oauth: oauth({ signing_keys: [...signing_keys] }) })
      return kids()
    }
    const [first] = oauth()['signing_keys'] as readonly [JsonObject]
    const [soon, next] = [await keyEntry('soon', 600), await keyEntry('next', 3700)]
    const before = await kids()
    expect(await reload([first, soon])).toEqual(before)
    const both = await reload([first, next])
    expect(both).toHaveLength(2)
    expect(await signing()).toBe(before[0])
    setup.clock.advance(3700)
    expect(await signing()).toBe(both[1])
    expect(await reload([next])).toEqual(both)
    setup.clock.advance(301)
    expect(await reload([next])).toEqual([both[1]])
    const now = await keyEntry('now', 3700, true)
    expect(await reload([next, now])).toHaveLength(2)
    expect(await reload([now])).toHaveLength(1)
    expect(await signing()).not.toBe(both[1])
  })
})
