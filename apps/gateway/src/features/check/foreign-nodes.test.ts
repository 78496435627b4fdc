import { randomUUID } from 'node:crypto'
import { draftAttestation, draftRevocationFeed, signList, writeInstant } from '@chancery/protocol'
import type { Attestation, JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  testCertificate,
  testIssuer,
  testList,
  testNetwork,
  testSigner,
} from '@chancery/testkit'
import type { TestIssuer } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { auditEvents } from '../../test-gateway.suite.ts'
import { type DecidingGateway, startDecidingGateway } from '../decisions/deciding-gateway.suite.ts'
import { AUDIENCE, askCheck, checkUrl, provenHeaders } from './checked-gateway.suite.ts'
import type { CheckAnswer, ProvingNode } from './checked-gateway.suite.ts'

/**
 * Holds: a node of a partner passes a route with a capability only with an attestation of its own network in the proof,
 * and with a decision of our authority on exactly that attestation under a treaty.
 */
const PARTNER = 'PARTNER-NET'
const POLICY = {
  check: {
    audience: AUDIENCE,
    routes: [
      { method: 'POST', path: '/jobs', capability: 'print', network: 'TEST-NET' },
      { method: 'GET', path: '/jobs' },
    ],
  },
}
const SETTINGS = { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: 'original' }

describe.each(['relay', 'operator'] as const)('node of a partner, with the key of a %s', (kind) => {
  let setup: DecidingGateway
  let partner: TestIssuer
  let node: ProvingNode
  let feeds = 0

  const privileged = (path: string, body: JsonObject) => setup.na.as('privileged')('POST', path, body)

  async function attest(by: TestIssuer = partner, capability = 'print'): Promise<Attestation> {
    const draft = draftAttestation({
      attestation_id: randomUUID(),
      issuer_sovereign_id: PARTNER,
      subject_id: 'agent-b',
      subject_public_key: node.signer.publicKey,
      roles: ['role:client'],
      claims: { capabilities: [capability] },
      issued_by: by.keyId,
      now: setup.clock.now(),
      validityHours: 24,
    })
    return signList(draft, by.signer)
  }

  async function importFeed(revoked: readonly string[] = []): Promise<void> {
    feeds += 1
    const draft = draftRevocationFeed({
      feed_id: randomUUID(),
      issuer_sovereign_id: PARTNER,
      sequence: feeds,
      issued_at: writeInstant(setup.clock.now()),
      issued_by: partner.keyId,
      reasons: new Map(revoked.map((id) => [id, null])),
    })
    const feed = await signList(draft, partner.signer)
    accepted(await privileged('/admin/sovereign-revocation-feeds/import', { feed }))
  }

  beforeAll(async () => {
    partner = await testIssuer(PARTNER, 'na-partner')
    // The clock of the gateway starts at this time.
    const at = new ManualClock('2026-01-02T03:04:05.678Z').now()
    setup = await startDecidingGateway({
      kind,
      policy: POLICY,
      settings: SETTINGS,
      state: 'new',
      authority: { NA_NODE_DECISIONS: 'partners' },
      networks: { [PARTNER]: testNetwork(partner, await testList(partner, at)) },
    })
    const signer = await testSigner('node', `partner-${kind}`)
    node = { signer, certificate: await testCertificate(partner, at, { node_public_key: signer.publicKey }) }
    accepted(
      await privileged('/admin/recognition-treaties', {
        subject_sovereign_id: PARTNER,
        subject_public_keys: [partner.signer.publicKey],
        scope: { allowed_roles: ['role:client'], claims: { capabilities: ['print'] } },
      }),
      201,
    )
    await importFeed()
  })
  afterAll(() => setup.stop())
  beforeEach(() => {
    setup.clock.advance(2)
    setup.asked.length = 0
    setup.change = (answer) => answer
  })

  async function ask(attestation: Attestation | undefined, method = 'POST'): Promise<CheckAnswer> {
    const by = attestation === undefined ? node : { ...node, attestation }
    const proof = await provenHeaders(by, { method, target: '/jobs', now: setup.clock.now() })
    const headers = { ...proof, 'x-original-method': method, 'x-original-uri': '/jobs', 'x-original-length': '0' }
    return askCheck(checkUrl(setup.gateway), { path: '/check', headers })
  }

  it('passes with an attestation of its network and a treaty, and reuses the decision', async () => {
    const attestation = await attest()
    const first = await ask(attestation)
    expect([first.status, first.reason, first.headers['chancery-network']]).toEqual([200, undefined, PARTNER])
    expect(setup.asked[0]?.['presented']).toMatchObject({
      issuer_sovereign_id: PARTNER,
      attestation: { attestation_id: attestation.attestation_id },
    })
    const again = await ask(attestation)
    expect(again.headers['chancery-decision']).toBe(first.headers['chancery-decision'])
    expect(setup.asked).toHaveLength(1)
  })

  it('is audited with its own network and with the network that decides, also when it is refused', async () => {
    const audited = async (answer: CheckAnswer): Promise<unknown> => {
      const id = answer.headers['x-request-id']
      const events = (await auditEvents(setup.gateway)).filter(({ request_id }) => request_id === id)
      return events.find(({ phase }) => phase === 'completed')?.['context']
    }
    const networks = { network: PARTNER, decision_network: 'TEST-NET' }
    const attestation = await attest()
    // Asked, then reused.
    for (const reused of [false, true])
      expect(await audited(await ask(attestation))).toMatchObject({ ...networks, decisions: [{ reused }] })
    expect(await audited(await ask(undefined))).toMatchObject({ ...networks, reason: 'subject_unknown' })
    const undecided = await audited(await ask(undefined, 'GET'))
    expect(undecided).toMatchObject({ network: PARTNER })
    expect(undecided).not.toHaveProperty('decision_network')
  })

  it('is refused without an attestation, and asks nothing; a route without a capability needs none', async () => {
    expect(await ask(undefined)).toMatchObject({ status: 403, reason: 'subject_unknown' })
    expect(await ask(undefined, 'GET')).toMatchObject({ status: 200 })
    expect(setup.asked).toHaveLength(0)
  })

  it('is refused with an attestation that its network did not sign, and asks nothing', async () => {
    const forger = await testIssuer(PARTNER, 'na-forger')
    expect(await ask(await attest(forger))).toMatchObject({ status: 403, reason: 'subject_unknown' })
    const own = { ...(await attest()), issuer_sovereign_id: 'TEST-NET' }
    expect(await ask(own)).toMatchObject({ status: 401, reason: 'attestation_issuer_mismatch' })
    expect(setup.asked).toHaveLength(0)
  })

  it('is refused what the treaty does not name, and after its network withdrew the attestation', async () => {
    expect(await ask(await attest(partner, 'scan'))).toMatchObject({ status: 403, reason: 'decision_denied' })
    const withdrawn = await attest()
    await importFeed([withdrawn.attestation_id])
    expect(await ask(withdrawn)).toMatchObject({ status: 403, reason: 'decision_denied' })
  })

  it('is refused with a decision on another attestation, or with a changed context', async () => {
    let earlier: JsonObject | undefined
    setup.change = (answer) => (earlier ??= answer)
    expect((await ask(await attest())).status).toBe(200)
    expect(await ask(await attest())).toMatchObject({ status: 403, reason: 'unavailable' })
    const changes: ((context: JsonObject) => JsonObject | undefined)[] = [
      () => undefined,
      (context) => ({ ...context, attributes: {} }),
      (context) => recognised(context, { issuer_sovereign_id: 'OTHER' }),
      (context) => recognised(context, { attestation_digest: `sha256:${'0'.repeat(64)}` }),
      (context) => recognised(context, { treaty_id: 'another' }),
    ]
    for (const change of changes) {
      setup.change = ({ context, ...rest }) => {
        const changed = change(context as JsonObject)
        return changed === undefined ? rest : { ...rest, context: changed }
      }
      expect(await ask(await attest())).toMatchObject({ status: 403, reason: 'unavailable' })
    }
  })
})

function recognised(context: JsonObject, members: JsonObject): JsonObject {
  const attributes = context['attributes'] as JsonObject
  const chancery_recognition = { ...(attributes['chancery_recognition'] as JsonObject), ...members }
  return { ...context, attributes: { ...attributes, chancery_recognition } }
}
