import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JoinCertificate, type JsonObject, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type NodeCaller, accepted, enroll, newNodeCaller, testClient, testProof, testSeed } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfiguration } from '../../policy/load-configuration.ts'
import { expectRefusal } from '../../test-gateway.suite.ts'
import { type DecidingGateway, startDecidingGateway } from './deciding-gateway.suite.ts'

/** A service that may ask, but for which no caller makes a proof. */
const stranger = testClient('more', ['TEST-NET'], { decisions: true, proof_audiences: ['https://more.example'] })

let setup: DecidingGateway
let node: NodeCaller
let certificate: JoinCertificate
let attestation: string
beforeAll(async () => {
  setup = await startDecidingGateway({ kind: 'relay', clients: [stranger] })
  node = await newNodeCaller(setup.na.url, 'caller', setup.clock)
  certificate = await enroll(setup.na, node, { roles: ['role:client'] })
  attestation = await setup.attest({ subject_public_key: node.key })
  const subjects = { 'user:alice': attestation, [`node:${certificate.cert_id}`]: attestation }
  await setup.gateway.reload(await setup.policy({ subjects, capability_prefixes: { bulk: 'bulk.' } }))
})
afterAll(() => setup.stop())

async function proofOf(): Promise<JsonObject> {
  const request = { method: 'POST', target: '/print', audience: 'https://print.example' }
  const proof = await testProof({ ...request, certificate, signer: node.signer, now: setup.clock.now() })
  return {
    method: request.method,
    request_target: request.target,
    content_digest: proof['content-digest'],
    audience: request.audience,
    certificate: proof['chancery-certificate'],
    attestation: null,
    signature_input: proof['signature-input'],
    signature: proof.signature,
  }
}

const resource = { type: 'printer', id: 'p1' }
const asking = (on_behalf_of: JsonObject, members: JsonObject = {}): JsonObject => ({
  subject: { type: 'user', id: 'alice' },
  action: { name: 'print' },
  resource,
  context: { region: 'eu', chancery: { on_behalf_of } },
  ...members,
})

it('decides for a caller that proves itself, once per proof, and asks again each time', async () => {
  const proof = await proofOf()
  const answer = await setup.ask(asking(proof))
  expect([answer.status, answer.body['decision']]).toEqual([200, true])
  const replayed = await setup.ask(asking(proof))
  expectRefusal(replayed, 400, 'invalid_request', 'question_refused')
  expect(replayed.body['details']).toEqual({ code: 'caller_proof_rejected' })
  const subject = { type: 'node', id: certificate.cert_id }
  expect((await setup.ask(asking(await proofOf(), { subject }))).body['decision']).toBe(true)
  const bulk = await setup.ask(asking(await proofOf(), { resource: { type: 'bulk', id: 'b' } }))
  expect([bulk.body['decision'], setup.asked.at(-1)?.['requested_capability']]).toEqual([false, 'bulk.print'])
})

it('takes no proof that the caller made for another service, and spends nothing', async () => {
  setup.asked.length = 0
  const proof = await proofOf()
  for (const asked of [
    await setup.ask(asking(proof), { token: stranger.token }),
    await setup.ask(asking({ ...proof, audience: 'https://other.example' })),
  ]) {
    expectRefusal(asked, 400, 'invalid_request', 'question_invalid')
    expect(asked.body['details']).toEqual({ path: 'context.chancery.on_behalf_of.audience' })
  }
  expect(setup.asked).toEqual([])
  expect((await setup.ask(asking(proof))).body['decision']).toBe(true)
})

it('gets no decision on an attestation without a proof, and takes no agreement', async () => {
  const unproven = await setup.ask({ ...asking({}), context: {} })
  expect([unproven.status, unproven.body['details']]).toEqual([400, { code: 'attestation_not_bound' }])
  const sovereign = await setup.ask({ ...asking({}), subject: { type: 'sovereign', id: 'B' }, context: {} })
  expectRefusal(sovereign, 400, 'invalid_request', 'question_invalid')
})

it('answers a batch in order, with whole members as defaults, and ends by its semantic', async () => {
  const unknown = { subject: { type: 'user', id: 'bob' } }
  const ask = async (semantic: string) => {
    const context = { chancery: { on_behalf_of: await proofOf() } }
    const evaluations = [unknown, { context }, unknown]
    const body = { ...asking({}), evaluations, options: { evaluations_semantic: semantic } }
    const answer = await setup.gateway.request('POST', '/access/v1/evaluations', { token: setup.asker.token, body })
    return (answer.body['evaluations'] as readonly JsonObject[] | undefined)?.map(({ decision }) => decision)
  }
  // The default context has an empty proof, so it would be refused.
  expect(await ask('permit_on_first_permit')).toEqual([false, true])
  expect(await ask('deny_on_first_deny')).toEqual([false])
  expect(await ask('sometimes')).toBeUndefined()
})

it('describes itself with the configured address only', async () => {
  const answer = await setup.gateway.request('GET', '/.well-known/authzen-configuration', {
    headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-request-id': 'r1' },
  })
  expect([answer.body, answer.headers['x-request-id']]).toEqual([
    {
      policy_decision_point: 'https://gw.example',
      access_evaluation_endpoint: 'https://gw.example/access/v1/evaluation',
      access_evaluations_endpoint: 'https://gw.example/access/v1/evaluations',
    },
    'r1',
  ])
})

it('reports an open key, a key of another certificate and a certificate that is none', async () => {
  const { home, settings } = setup.gateway
  const problemsWith = async (decisions: JsonObject) => {
    const policy = await setup.policy(decisions)
    await writeFile(join(home, 'policy.json'), writeJson(policy), { mode: 0o600 })
    return loadConfiguration(settings, systemClock.now()).problems.map(({ path, message }) => `${path} ${message}`)
  }
  expect(await problemsWith({})).toEqual([])
  await writeFile(join(home, 'open.key'), writePrivateKeyFile(testSeed('gateway-relay')), { mode: 0o600 })
  await chmod(join(home, 'open.key'), 0o640)
  const at = 'networks.TEST-NET.decisions'
  expect(await problemsWith({ key_file: join(home, 'open.key') })).toEqual([
    `${at}.key_file must name a private key file that only its owner may read`,
  ])
  expect(await problemsWith({ key_file: join(home, 'operator.key') })).toEqual([
    `${at}.certificate_file belongs to another key`,
  ])
  expect(await problemsWith({ certificate_file: join(home, 'relay.key'), extra: 1 })).toEqual([
    `${at}.extra is not a known member`,
    `${at}.certificate_file must name a readable join certificate that others may not write`,
    `${at}.key_file must contain the key id of an operator, or name a certificate_file`,
  ])
})

it('denies a revoked certificate, and asks nothing while the certificate of the relay is revoked', async () => {
  const revoke = async (cert_id: string): Promise<void> => {
    const body = { cert_id, reason: 'cessation_of_operation' }
    accepted(await setup.na.as('privileged')('POST', '/admin/revoke', body))
    await setup.gateway.reload(await setup.policy({ subjects: { 'user:alice': attestation } }))
  }
  await revoke(certificate.cert_id)
  setup.asked.length = 0
  const denied = await setup.ask(asking(await proofOf()))
  expect(denied.body).toEqual({ decision: false, context: { reason: 'certificate_untrusted' } })
  await revoke(setup.relayCertificate.cert_id)
  expectRefusal(await setup.ask(asking(await proofOf())), 503, 'unavailable', 'relay_certificate')
  expect(setup.asked).toEqual([])
})
