import { randomUUID } from 'node:crypto'
import {
  ManualClock,
  createInvite,
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testSeed,
} from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createGatewayClient } from '../gateway/client.ts'
import { type GovernedSetup, openSetup } from '../governed/governed.suite.ts'
import { MemoryNodeStore } from '../node/followed.ts'
import { startNode } from './started-node.suite.ts'
import { canonical, digest, holds, signed, unsigned } from './independent.suite.ts'
import { signRequest } from '../request-proof/sign.ts'
import { RelyingParty } from '../verify/relying-party.ts'
import { verifyRecord } from '../verify/records.ts'

let setup: GovernedSetup
beforeAll(async () => {
  setup = await openSetup()
})
afterAll(() => setup.close())

describe('what the library makes holds for code that shares no line with it', () => {
  it('execution evidence: signature, digest and both chains', async () => {
    const governor = await setup.open()
    const records = []
    for (let count = 0; count < 3; count += 1) {
      const parameters = { note: 'héllo \u{1f511}', count }
      const action = setup.action(() => Promise.resolve(), { parameters, resource: { id: 'kv/é', action: 'rotate' } })
      const result = await governor.run(action)
      if (result.allowed) records.push(result.evidence)
    }
    const { publicKey } = (await setup.client.evidence.executorKeys()).executor_keys.reduce(
      (found, key) => (key.key_id === 'rotator-1' ? { publicKey: key.public_key } : found),
      { publicKey: '' },
    )
    expect(records.map((each) => holds(publicKey, unsigned(each), each.signature?.sig ?? ''))).toEqual([
      true,
      true,
      true,
    ])
    expect(records.map((each) => each.prev_resource_digest)).toEqual([
      undefined,
      ...records.slice(0, 2).map((each) => digest(each)),
    ])
  })

  it('a request proof: the signature base of RFC 9421, spelled out', async () => {
    const store = new MemoryNodeStore()
    const node = await startNode({
      url: setup.na.url,
      genesis: setup.na.genesis,
      store,
      invite: await createInvite(setup.na),
      clock: () => setup.clock.now(),
    })
    await node.stop()
    const audience = 'https://print.example.org'
    const fields = await signRequest(
      { method: 'post', url: 'https://print.example.org/a%20b?x=1', body: '{}', audience, now: setup.clock.now() },
      { signer: await store.signer(), certificate: node.certificate },
    )
    const base = [
      '"@method": POST',
      '"@request-target": /a%20b?x=1',
      '"content-digest": sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:',
      `"chancery-audience": ${audience}`,
      `"chancery-certificate": ${fields['chancery-certificate']}`,
      `"@signature-params": ${fields['signature-input'].slice('node='.length)}`,
    ].join('\n')
    expect(holds(node.publicKey, base, fields.signature.slice('node=:'.length, -1))).toBe(true)
    const carried = JSON.parse(
      Buffer.from(fields['chancery-certificate'].slice(1, -1), 'base64').toString('utf8'),
    ) as unknown
    expect(carried).toEqual(node.certificate)
  })
})

describe('what that code makes holds for the library', () => {
  it('an attestation, and not when one letter differs', async () => {
    const { na, clock } = setup
    const draft = {
      attestation_id: randomUUID(),
      subject_id: 'sübject',
      subject_public_key: null,
      issuer_sovereign_id: na.genesis.network_name,
      roles: ['role:client'],
      status: 'active',
      claims: { capabilities: ['print'] },
      issued_by: 'na-test',
      issued_at: '2030-01-02T02:00:00Z',
      valid_from: '2030-01-02T02:00:00Z',
      expires_at: '2030-02-02T02:00:00Z',
    }
    const record = { ...draft, signatures: [{ key_id: 'na-test', sig: signed(testSeed('na'), canonical(draft)) }] }
    const trust = { genesis: na.genesis, at: clock.now() }
    expect(await verifyRecord(record, trust)).toMatchObject({ kind: 'membership-attestation', valid: true, record })
    const changed = { ...record, subject_id: 'subject' }
    expect(await verifyRecord(changed, trust)).toMatchObject({ valid: false, reason: 'invalid_signature' })
  })

  it('execution evidence, which the authority stores behind that of the library', async () => {
    const governor = await setup.open()
    const result = await governor.run(
      setup.action(() => Promise.resolve(), { resource: { id: 'kv/both', action: 'create' } }),
    )
    if (!result.allowed) throw new Error('denied')
    const { signature: _own, ...first } = result.evidence
    const next = {
      ...first,
      evidence_id: randomUUID(),
      sequence_no: 2,
      prev_evidence_digest: digest(result.evidence),
      resource_sequence: 2,
      prev_resource_digest: digest(result.evidence),
    }
    const record = { ...next, signature: { key_id: 'rotator-1', sig: signed(testSeed('rotator-1'), unsigned(next)) } }
    expect((await setup.client.evidence.execution({ evidence: record })).status).toBe('recorded')
    expect(await setup.client.evidence.verify()).toMatchObject({ verified: true })
  })
})

it('a relying party says what a gateway says, of good certificates and bad ones', async () => {
  const clock = new ManualClock('2026-03-02T12:00:00Z')
  const now = clock.now()
  const [by, stranger] = [await testIssuer('agency'), await testIssuer('agency', 'na-other')]
  const list = await testList(by, now, { entries: [{ certificate_id: 'cert-bad' }] })
  const caller = testClient('caller', ['agency'])
  const policy = testPolicy({ agency: testNetwork(by, list, { required_roles: ['role:client'] }) }, [caller])
  const gateway = await startTestGateway({ policy, clock })
  const asked = createGatewayClient({ url: gateway.url, token: caller.token })
  const party = await RelyingParty.open({
    network: 'agency',
    anchors: { [by.keyId]: by.signer.publicKey },
    crl: list,
    required_roles: ['role:client'],
  })
  const good = await testCertificate(by, now)
  const [own] = good.signatures
  const certificates = [
    good,
    await testCertificate(by, now, { cert_id: 'cert-bad' }),
    await testCertificate(by, now, { roles: ['role:other'] }),
    await testCertificate(by, now, { expires_at: '2026-03-02T11:54:59Z' }),
    await testCertificate(by, now, { issued_at: '2026-03-02T12:05:01Z', expires_at: '2026-03-03T00:00:00Z' }),
    await testCertificate(by, now, { issued_at: '2026-03-03T00:00:00Z', expires_at: '2026-03-02T00:00:00Z' }),
    await testCertificate(stranger, now),
    { ...good, signatures: [] },
    { ...good, roles: ['role:client', 'role:admin'] },
    { ...good, node_public_key: Buffer.alloc(32).toString('base64') },
    { ...good, signatures: [...good.signatures, { key_id: 'x', sig: own?.sig ?? '' }] },
    { ...good, issued_at: '2026-02-30T00:00:00Z' },
  ]
  try {
    const theirs = await asked.evaluateAll(certificates)
    for (const [index, certificate] of certificates.entries()) {
      const ours = await party.evaluate(certificate, now)
      const { policy_revision: _theirs, ...evaluation } = theirs[index]?.decision?.evaluation ?? {}
      const { policy_revision: _ours, ...own } = ours.decision?.evaluation ?? {}
      expect([index, ours.decision?.reasons, ours.decision?.findings, own]).toEqual([
        index,
        theirs[index]?.decision?.reasons,
        theirs[index]?.decision?.findings,
        evaluation,
      ])
    }
    expect(theirs.map(({ trusted }) => trusted)).toEqual([true, ...Array.from({ length: 11 }, () => false)])
  } finally {
    await gateway.stop()
  }
})
