// oxlint-disable max-lines -- every method of the older interface
import { createPublicKey, verify } from 'node:crypto'
import { canonicalJson, readJson, seedSigner, toUtf8 } from '@chancery/protocol'
import type { ExecutionEvidence, JsonObject } from '@chancery/protocol'
import { testSeed, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GovernedSetup, openSetup } from '../governed/governed.suite.ts'
import { MemoryOutbox } from '../governed/outbox.ts'
import * as existing from './index.ts'
import type { ExistingOptions } from './index.ts'

let setup: GovernedSetup
let audience: string
beforeAll(async () => {
  setup = await openSetup()
  audience = setup.na.genesis.network_authority.public_key
})
afterAll(() => setup.close())

/** What each call sent; the network behind it is real. */
const sent: { readonly url: string; readonly init: RequestInit }[] = []

function connect(more: Partial<ExistingOptions> = {}): existing.ExistingClient {
  sent.length = 0
  return existing.createCompatClient({
    baseUrl: setup.na.url,
    signingKeyBase64: testSeed('op-privileged'),
    keyId: 'op-privileged',
    audience,
    clock: () => setup.clock.now(),
    fetch: (url, init) => {
      sent.push({ url, init })
      return globalThis.fetch(url, init)
    },
    ...more,
  })
}

/** The features as protocol/gateway 22.3 writes them; those about records outside of decisions are reserved there. */
const FUNCTIONS =
  'buildAdminHeaders buildAdminHeadersWithSigner adminSigningPayload canonicalJson canonicalDigest sha256Hex parseJson ' +
  'signBytes verifyBytes publicKeyFromSeed seedSigner signCanonical verifyCanonical pythonTimestamp checkSignable ' +
  'checkStrictJson StrictJsonError isRetryableConflict governedAction summarizeDecision DecisionVerificationError ' +
  'GovernedActionError MetadataRefusedError EvidenceNotStoredError ExecutionRecorder checkMetadataOnly metadataProblem ' +
  'MemoryOutbox reconcileResources verifyBoundaryDecision verifyDecisionSignature verifyAttestationSignature ' +
  'verifyPolicySignature verifyJustificationSignature verifyRevocationFeedSignature verifyRetentionCheckpoint ' +
  'verifyExecutionSignature verifyEvidenceEvents parseExportLines verifyAgreement verifyDataLicensePolicySignature ' +
  'verifyDataAccessIntent createDataAccessIntent attestationDigest policyDigest policySetDigest executionDigest ' +
  'entryDigest payloadDigest unknownFields nonCanonicalTimestamps canonicalTimestamp isKnownEntryKind ' +
  'BadRequestError UnauthorizedError ForbiddenError NotFoundError ConflictError ValidationError RateLimitError ' +
  'ServiceUnavailableError NetworkError'

it('has every function of the features', () => {
  const all = existing as unknown as Record<string, unknown>
  for (const name of FUNCTIONS.split(' ')) expect([name, typeof all[name]]).toEqual([name, 'function'])
  expect(existing.ADMIN_SIGNATURE_VERSION).toBe(2)
})

describe('options', () => {
  it.each<[string, Partial<ExistingOptions>, string]>([
    ['no address', { baseUrl: undefined as never }, 'exactly one'],
    ['both addresses', { baseUrls: ['https://a.example'] }, 'exactly one'],
    ['too many attempts', { retry: { attempts: 11 } }, 'from 0 to 10'],
    ['too long a pause', { retry: { baseDelayMs: 60_001 } }, 'from 0 to 60000'],
    ['no time', { timeout: 0 }, 'timeout'],
    ['no audience', { audience: undefined as never }, 'pin the audience'],
    ['a header of its own signature', { headers: { 'x-admin-signature': 'x' } }, 'set by the call itself'],
  ])('refuse %s', (_what, more, problem) => {
    expect(() => connect(more)).toThrow(problem)
  })

  it('have the defaults of such code', () => {
    const client = existing.createCompatClient({ baseUrls: ['https://a.example/', 'https://b.example'] })
    expect(client).toMatchObject({
      baseUrl: 'https://a.example',
      baseUrls: ['https://a.example', 'https://b.example'],
      keyId: 'operator-local',
      canSign: false,
    })
    expect(connect()).toMatchObject({ keyId: 'op-privileged', canSign: true })
  })

  it('make no further attempt unless configured, and then that many', async () => {
    let calls = 0
    const fetch = (): Promise<Response> => {
      calls += 1
      const body = '{"error":{"code":"rate_limit_exceeded","message":"Slower."}}'
      return Promise.resolve(new Response(body, { status: 429 }))
    }
    await expect(connect({ fetch }).publicGet('/healthz')).rejects.toBeInstanceOf(existing.RateLimitError)
    expect(calls).toBe(1)
    await expect(
      connect({ fetch, retry: { attempts: 3, baseDelayMs: 1 } }).publicGet('/healthz'),
    ).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
    expect(calls).toBe(5)
  })

  it('take a signer before a seed, at once or later, and refuse a signature that is none', async () => {
    const own = await testSigner('op-privileged')
    const ids: string[] = []
    const signer = {
      keyId: 'op-privileged',
      sign: (bytes: Uint8Array) => {
        ids.push('asked')
        return own.sign(bytes)
      },
    }
    await connect({ signer, signingKeyBase64: testSeed('nobody') }).adminGet('/admin/policy/history')
    expect(ids).toEqual(['asked'])
    const short = { keyId: 'op-privileged', sign: () => new Uint8Array(63) }
    await expect(connect({ signer: short }).adminGet('/admin/policy/history')).rejects.toThrow('64 bytes')
  })

  it('fetch the audience only when configured', async () => {
    const client = connect({ audience: undefined as never, trustFirstAudience: true })
    await client.adminGet('/admin/policy/history')
    expect(sent.map(({ url }) => new URL(url).pathname)).toEqual(['/sovereign.json', '/admin/policy/history'])
  })
})

describe('raw calls', () => {
  it('reach routes by path, signed again each time, with the given headers', async () => {
    const client = connect({ headers: { 'X-Trace': 't-1' } })
    expect(await client.publicGet('/healthz')).toMatchObject({ status: 'ok' })
    expect(await client.publicGetAt(client.baseUrl, '/healthz')).toMatchObject({ status: 'ok' })
    await expect(client.publicGetAt('https://elsewhere.example', '/healthz')).rejects.toThrow('none of the addresses')
    const saved = await client.adminPost('/admin/policy', { policy_id: 'raw-1', allowed_ports: [443] })
    expect(saved).toMatchObject({ policy_id: 'raw-1' })
    const post = sent.at(-1)?.init
    // Sorted names: the text that travels is the one that is signed.
    expect(Buffer.from(post?.body as Uint8Array).toString()).toBe('{"allowed_ports":[443],"policy_id":"raw-1"}')
    expect(await client.adminGetText('/admin/evidence/export', { since_sequence: 0 })).toEqual(expect.any(String))
    expect(sent.every(({ init }) => (init.headers as Record<string, string>)['X-Trace'] === 't-1')).toBe(true)
    const nonces = sent.map(({ init }) => (init.headers as Record<string, string>)['X-Admin-Nonce']).filter(Boolean)
    expect(new Set(nonces).size).toBe(nonces.length)
  })

  it('sign a path as the authority reads it', async () => {
    const client = connect()
    const path = client.buildPath('/admin/evidence/resources/{resource_id}', { resource_id: 'a/b ä%' })
    expect(path).toBe('/admin/evidence/resources/a%2Fb%20%C3%A4%25')
    // A signature over another text would be 401.
    await expect(client.adminGet(path)).rejects.toMatchObject({ status: 404, name: 'NotFoundError' })
    expect(() => client.buildPath('/a/{id}', {})).toThrow('id is required')
    await expect(client.publicGet('/a/%2e%2e/b')).rejects.toThrow('dot segment')
    await expect(client.publicPost('verify')).rejects.toThrow('begins with /')
  })

  it('report that nothing was sent', async () => {
    const client = connect({ baseUrl: 'http://127.0.0.1:65535' })
    await expect(client.publicGet('/healthz')).rejects.toMatchObject({ connectFailed: true })
  })
})

describe('signing by hand', () => {
  it('makes headers an authority takes', async () => {
    const request = { method: 'GET', path: '/admin/policy/history', query: { limit: ['5'] }, audience }
    const timestamp = existing.pythonTimestamp(setup.clock.now())
    const key = { signingKeyBase64: testSeed('op-privileged'), keyId: 'op-privileged' }
    const headers = await existing.buildAdminHeaders({ ...request, timestamp }, key)
    const ask = (more: Record<string, string>): Promise<Response> =>
      fetch(`${setup.na.url}/admin/policy/history?limit=5`, { headers: more })
    expect((await ask(headers)).status).toBe(200)
    const others = await existing.buildAdminHeadersWithSigner(
      { ...request, timestamp, path: '/admin/policy' },
      await seedSigner('op-privileged', testSeed('op-privileged')),
    )
    expect((await ask(others)).status).toBe(401)
  })

  it('signs what the platform verifies, and reads JSON in one way only', async () => {
    const seed = testSeed('somebody')
    const publicKey = await existing.publicKeyFromSeed(seed)
    const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(publicKey, 'base64')])
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
    const signature = await existing.signBytes(toUtf8('m'), seed)
    expect(verify(null, Buffer.from('m'), key, Buffer.from(signature, 'base64'))).toBe(true)
    expect(await existing.verifyBytes(toUtf8('n'), signature, publicKey)).toBe(false)
    const value = existing.parseJson('{"b":1.50,"a":12345678901234567890}')
    expect(canonicalJson(value)).toBe('{"a":12345678901234567890,"b":1.5}')
    const signed = await existing.signCanonical(value, await seedSigner('k', seed))
    expect(verify(null, Buffer.from(canonicalJson(value)), key, Buffer.from(signed.sig, 'base64'))).toBe(true)
    expect(await existing.verifyCanonical({ a: 1 }, signed, publicKey)).toBe(false)
    expect(() => existing.checkStrictJson('{"a":1,"a":2}')).toThrow(existing.StrictJsonError)
    expect(() => existing.checkSignable({ a: Number.NaN })).toThrow(/number|finite|NaN/i)
  })
})

describe('evidence', () => {
  async function done(id: string, action: 'create' | 'rotate' | 'revoke', version = '7'): Promise<void> {
    const parameters = { secret_version: version }
    const result = await existing.governedAction({
      ...setup.action(() => Promise.resolve(), { resource: { id, action }, parameters }),
      client: setup.client,
      outbox: new MemoryOutbox(),
      executor: { signer: await testSigner('rotator-1'), sovereignId: 'rotator' },
      clock: () => setup.clock.now(),
    })
    expect(result.allowed).toBe(true)
  }

  it('is compared with what is there', async () => {
    for (const id of ['kept', 'changed', 'lost', 'back', 'gone']) await done(id, 'create')
    await done('changed', 'rotate', '8')
    await done('back', 'revoke')
    await done('gone', 'revoke')
    const records = await setup.executions()
    const observed = [
      { resource_id: 'kept', parameters: { secret_version: '7' } },
      { resource_id: 'changed', parameters: { secret_version: '7' } },
      { resource_id: 'back' },
      { resource_id: 'stranger' },
    ]
    const found = existing.reconcileResources(records, observed)
    expect(found.map(({ resource_id, state }) => [resource_id, state])).toEqual([
      ['back', 'present_after_revoke'],
      ['changed', 'drifted'],
      ['gone', 'in_sync'],
      ['kept', 'in_sync'],
      ['lost', 'missing'],
      ['stranger', 'unmanaged'],
    ])
    expect(found[1]?.differences).toEqual(['secret_version'])
    // A revocation that failed left the resource where it was.
    const failed = { ...(found[3]?.last as ExecutionEvidence), resource_sequence: 2, outcome: 'failure' as const }
    const again = { ...failed, resource_action: 'revoke' as const }
    expect(existing.reconcileResources([...records, again], observed)[3]?.state).toBe('in_sync')
  })

  it('of others is written into both chains, and everything verifies offline', async () => {
    const { decision, justification_proof } = await setup.client.boundary.evaluate({
      attestation_id: setup.attestation.attestation_id,
      requested_capability: 'secret.rotate',
    })
    const executor = { signer: await testSigner('rotator-1'), sovereignId: 'rotator' }
    const recorder = new existing.ExecutionRecorder({
      client: setup.client,
      executor,
      clock: () => setup.clock.now(),
    })
    const act = { decision, capability: 'secret.rotate', resource: { id: 'other', action: 'create' as const } }
    const first = await recorder.record(act)
    const second = await recorder.record({ ...act, resource: { id: 'other', action: 'rotate' } })
    expect(second).toMatchObject({ resource_sequence: 2, prev_resource_digest: existing.executionDigest(first) })
    expect((await setup.executions({ resource_id: 'other' })).map(({ sequence_no }) => sequence_no)).toEqual([1, 2])
    await expect(recorder.record({ ...act, parameters: { password: 'x' } })).rejects.toThrow('look like a secret')
    expect(existing.metadataProblem({ a: 'b' })).toBeUndefined()

    const keys = [audience]
    const now = setup.clock.now()
    expect(await existing.verifyDecisionSignature(decision, keys)).toEqual({ ok: true })
    expect(await existing.verifyBoundaryDecision(decision, { keys, now })).toMatchObject({ accepted: true })
    expect(await existing.verifyJustificationSignature(justification_proof, keys)).toEqual({ ok: true })
    expect(await existing.verifyExecutionSignature(second, [executor.signer.publicKey])).toEqual({ ok: true })
    expect(
      await existing.verifyExecutionSignature({ ...second, outcome: 'failure' }, [executor.signer.publicKey]),
    ).toEqual({
      ok: false,
      reason: 'invalid_signature',
    })
    expect(await existing.verifyAttestationSignature(setup.attestation, keys)).toBe(true)
    expect(existing.attestationDigest(setup.attestation)).toBe(decision.attestation_binding?.attestation_digest)

    const { evidenceStore } = connect({ outbox: new MemoryOutbox() })
    const text = await evidenceStore.exportText()
    const listed = await evidenceStore.listExecutorKeys()
    const executors = Object.fromEntries(
      listed.map(({ key_id, public_key, executor_sovereign_id }) => [key_id, { public_key, executor_sovereign_id }]),
    )
    const lines = existing.parseExportLines(text)
    const report = await existing.verifyEvidenceEvents(lines, { authority: keys, executors })
    expect([report.checked_entries, report.failures]).toEqual([lines.length, []])
    const event = readJson(lines.at(-1) ?? '') as { entry: JsonObject; entry_digest: string; payload: JsonObject }
    expect(existing.entryDigest(event.entry)).toBe(event.entry_digest)
    expect(existing.payloadDigest(event.payload)).toBe(event.entry['payload_digest'])
    const forged = lines.map((line, at) => (at === 2 ? line.replace('"rotator"', '"other"') : line))
    expect((await existing.verifyEvidenceEvents(forged, { authority: keys, executors })).failures).not.toEqual([])
  })

  it('of another key is stored and submitted, but not signed again', async () => {
    const outbox = new MemoryOutbox()
    const { evidenceStore } = connect({ outbox })
    const [record] = await setup.executions({ resource_id: 'other' })
    await evidenceStore.enqueue(record as ExecutionEvidence)
    await evidenceStore.enqueue({ ...(record as ExecutionEvidence), evidence_id: 'forged' })
    expect(await evidenceStore.flushPending()).toEqual({ stored: 1, waiting: 0, deadLetters: 1 })
  })
})

describe('strictness', () => {
  it('names unknown and misspelt members', async () => {
    const [record] = await setup.executions({ resource_id: 'other' })
    if (record === undefined) throw new Error('no record')
    expect(existing.unknownFields('execution', record)).toEqual([])
    expect(existing.unknownFields('execution', { ...record, approved: true })).toEqual(['approved'])
    expect(existing.nonCanonicalTimestamps(record)).toEqual([])
    const other = { ...record, executed_at: '2030-01-02T03:00:00+00:00' }
    expect(existing.nonCanonicalTimestamps(other)).toEqual(['executed_at'])
    expect(existing.canonicalTimestamp('2030-01-02T04:00:00.000+01:00')).toBe('2030-01-02T03:00:00Z')
    expect([existing.isKnownEntryKind('execution'), existing.isKnownEntryKind('observation')]).toEqual([true, false])
  })
})
