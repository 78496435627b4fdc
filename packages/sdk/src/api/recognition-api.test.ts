import { type RecognitionTreaty, asJson, verifyList } from '@chancery/protocol'
import { ManualClock, type TestAuthority, createInvite, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { ResponseError, RefusedError } from '../errors.ts'
import { listen } from '../http/http-server.suite.ts'
import { DryRunUnsupportedError } from '../http/route-api.ts'

const clock = new ManualClock('2030-01-02T03:00:00Z')
let na: TestAuthority
let client: Client
let secret: TestAuthority
let partnerKey = ''

async function connect(authority: TestAuthority): Promise<Client> {
  const signer = await testSigner('op-privileged')
  const audience = authority.genesis.network_authority.public_key
  return createAuthorityClient({
    url: authority.url,
    operator: { signer, audience },
    clock: () => clock.now(),
    retry: false,
  })
}

beforeAll(async () => {
  const settings = { NA_CLOCK_CHECK: 'off' }
  na = await startTestAuthority({ clock, backend: 'sqlite', settings })
  secret = await startTestAuthority({
    clock,
    backend: 'sqlite',
    settings: { ...settings, NA_PUBLIC_ATTESTATION_LIST: 'off' },
  })
  client = await connect(na)
  partnerKey = (await testSigner('na-partner', 'partner na')).publicKey
})
afterAll(async () => {
  await na.stop()
  await secret.stop()
})

async function treatyWith(subject: string): Promise<RecognitionTreaty> {
  return client.recognitionTreaties.issue({
    subject_sovereign_id: subject,
    subject_public_keys: [partnerKey],
    scope: { allowed_roles: ['role:client'] },
  })
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  const error = await failureOf(work)
  return error instanceof RefusedError ? error.code : undefined
}

describe('attestations', () => {
  it('are issued, found, foreseen and revoked', async () => {
    const made = await client.attestations.issue({ subject_id: 'zoë', roles: ['role:client'], validity_hours: 2 })
    expect(await verifyList(made, [na.genesis.network_authority.public_key])).toBe(true)
    const id = made.attestation_id
    expect(await client.attestations.find(id)).toEqual({
      attestation: made,
      status: 'active',
      revoked_at: null,
      revocation_reason: null,
    })
    expect(await client.attestations.revoke(id, { dry_run: true })).toEqual({
      dry_run: true,
      attestation_id: id,
      status: 'active',
      would_change: true,
      attestations_no_longer_accepted: { count: 1, sample: [id] },
      accepting_sovereigns: { count: 0, sample: [] },
    })
    expect((await client.attestations.find(id)).status).toBe('active')
    expect(await client.attestations.revoke(id, { reason: 'left' })).toEqual({ attestation_id: id, status: 'revoked' })
    expect(await client.attestations.find(id)).toMatchObject({ status: 'revoked', revocation_reason: 'left' })
    expect((await client.revocationFeeds.current()).revoked_attestation_ids).toContain(id)
    expect(await codeOf(client.attestations.find('nothing'))).toBe('attestation_not_found')
  })

  it('are issued once under one idempotency key', async () => {
    const request = { subject_id: 'once', roles: ['role:client'] }
    const first = await client.attestations.issue(request, { idempotencyKey: 'try-1' })
    expect(await client.attestations.issue(request, { idempotencyKey: 'try-1' })).toEqual(first)
  })

  it('are listed page after page, by cursor', async () => {
    for (const n of [1, 2, 3, 4, 5]) {
      clock.advance(1)
      await client.attestations.issue({ subject_id: `s${n}`, roles: ['role:anchor'] })
    }
    const seen: string[] = []
    for await (const { attestation } of client.attestations.all({ limit: 2 })) seen.push(attestation.subject_id)
    expect(seen.slice(-5)).toEqual(['s1', 's2', 's3', 's4', 's5'])
    expect(new Set(seen).size).toBe(seen.length)
    const page = await client.attestations.list({ subject_id: 's3', limit: 1 })
    expect([page.count, page.total, page.attestations?.length]).toEqual([1, 1, 1])
  })

  it('are shown to operators only where the network requires it', async () => {
    const closed = await connect(secret)
    await closed.attestations.issue({ subject_id: 'dave', roles: ['role:client'] })
    expect(await closed.attestations.list()).toEqual({ count: 1 })
    await expect(closed.attestations.all().next()).rejects.toThrow(ResponseError)
    const row = await closed.attestations.all({}, { asOperator: true }).next()
    expect(row.value?.attestation.subject_id).toBe('dave')
  })

  it('are verified with a policy or a treaty', async () => {
    const attestation = await client.attestations.issue({ subject_id: 'erin', roles: ['role:client'] })
    expect(await codeOf(client.attestations.verify({ attestation }))).toBe('missing_recognition_policy')
    const policy = {
      local_sovereign_id: 'TEST-NET',
      recognized_issuers: [
        {
          sovereign_id: 'TEST-NET',
          public_keys: [na.genesis.network_authority.public_key],
          allowed_roles: ['role:client'],
          accepted_statuses: ['active' as const],
        },
      ],
      revoked_attestation_ids: [],
    }
    expect(await client.attestations.verify({ attestation, recognition_policy: policy })).toMatchObject({
      accepted: true,
      reason: 'accepted',
    })
    expect(await codeOf(client.recognitionPolicy.current())).toBe('recognition_policy_not_configured')
    expect(await client.recognitionPolicy.publish({ recognition_policy: policy, policy_id: 'p1' })).toEqual({
      policy_id: 'p1',
      local_sovereign_id: 'TEST-NET',
      active: true,
    })
    expect(await client.recognitionPolicy.current()).toEqual(policy)
    expect(await client.attestations.verify({ attestation })).toMatchObject({ accepted: true })
    const treaty = await treatyWith('OTHER-NET')
    expect(await client.attestations.verifyWithTreaty({ attestation, treaty })).toMatchObject({
      accepted: false,
      reason: 'treaty_wrong_subject',
      trust_basis: 'this_authority',
      counts_here: false,
    })
  })
})

describe('recognitionTreaties', () => {
  it('are issued, verified, foreseen, revoked and listed', async () => {
    const treaty = await treatyWith('PARTNER-NET')
    const id = treaty.treaty_id
    expect(await client.recognitionTreaties.find(id)).toMatchObject({ treaty, lifecycle: { state: 'active' } })
    expect(await client.recognitionTreaties.verify({ treaty })).toMatchObject({ accepted: true })
    expect(await client.recognitionTreaties.revoke(id, { dry_run: true })).toEqual({
      dry_run: true,
      treaty_id: id,
      status: 'active',
      would_change: true,
      paths_lost: {
        count: 1,
        complete: true,
        sample: [{ from: 'TEST-NET', to: 'PARTNER-NET' }],
        direct_recognition_lost: true,
      },
      attestations_no_longer_accepted: { issuer_sovereign_id: 'PARTNER-NET', all: true },
    })
    expect(await client.connectome.trustPath({ from: 'TEST-NET', to: 'PARTNER-NET' })).toMatchObject({
      trusted: true,
      hop_count: 1,
    })
    expect(await client.recognitionTreaties.revoke(id, { reason: 'over' })).toEqual({
      treaty_id: id,
      status: 'revoked',
    })
    expect(await client.recognitionTreaties.verify({ treaty })).toMatchObject({ reason: 'locally_revoked' })
    const found: string[] = []
    for await (const row of client.recognitionTreaties.all({ limit: 1 })) found.push(row.treaty.treaty_id)
    expect(found).toContain(id)
    expect(new Set(found).size).toBe(found.length)
    expect((await client.recognitionTreaties.list({ status: 'revoked' })).recognition_treaties).toHaveLength(1)
  })
})

describe('connectome and dashboard', () => {
  it('are read in full', async () => {
    const [graph, summary, atlas] = [
      await client.connectome.graph(),
      await client.connectome.summary(),
      await client.connectome.atlas(),
    ]
    expect(summary.summary.recognition_edge_count).toBe(graph.recognition_edges.length)
    expect(graph.revoked_trust_material).toMatchObject([{ type: 'recognition_treaty', reason: 'over' }])
    expect(atlas.graph_digest).toMatch(/^(sha256:)?[0-9a-f]{64}$/)
    expect(await client.connectome.trustPath({ from: 'TEST-NET', to: 'PARTNER-NET' })).toMatchObject({
      reason: 'direct_treaty_revoked',
    })
    const view = await client.dashboard.view()
    expect(view.sovereign.id).toBe('TEST-NET')
    expect(view.treaty_summary.total).toBe(graph.recognition_edges.length)
  })
})

describe('revocationFeeds', () => {
  it('refuse the own feed, and one of an unknown issuer', async () => {
    const feed = await client.revocationFeeds.current()
    expect(await codeOf(client.revocationFeeds.import({ feed }))).toBe('wrong_issuer')
    const foreign = { ...feed, issuer_sovereign_id: 'NOBODY-NET' }
    expect(await codeOf(client.revocationFeeds.import({ feed: foreign }))).toBe('missing_issuer_public_keys')
    const vouched = { feed: foreign, issuer_public_keys: { 'na-test': partnerKey } }
    expect(await codeOf(client.revocationFeeds.import(vouched))).toBe('invalid_signature')
  })
})

describe('a dry run', () => {
  it('of certificates says which', async () => {
    const signer = await testSigner('node', 'a node')
    const audience = na.genesis.network_authority.public_key
    const node = createAuthorityClient({ url: na.url, node: { signer, audience }, clock: () => clock.now() })
    const { cert_id } = await node.enrollment.join({ invite_token: await createInvite(na) })
    const forecast = await client.crl.revoke({ cert_ids: [cert_id], dry_run: true })
    expect(forecast).toEqual({
      dry_run: true,
      would_change: true,
      certificates_revoked: { count: 1, sample: [cert_id] },
      other_certificates: { count: 0, sample: [] },
      reasons_raised: { count: 0, sample: [] },
      agents_dropped: { count: 0, sample: [] },
    })
    expect(await client.crl.current()).toMatchObject({ revoked_certificates: [] })
    expect(await client.crl.revoke({ cert_ids: [cert_id] })).toMatchObject({ revoked_count: 1 })
  })

  it('of operator keys says how many are left', async () => {
    expect(await client.operatorKeys.revoke('op-standard', { dry_run: true })).toEqual({
      dry_run: true,
      key_id: 'op-standard',
      would_change: true,
      remaining_active_keys: 1,
      remaining_privileged_keys: 1,
      open_invites: 0,
      active_rules: 0,
    })
    await client.operatorKeys.revoke('op-standard', { reason: 'left' })
    expect(await client.operatorKeys.revoke('op-standard', { dry_run: true })).toEqual({
      dry_run: true,
      key_id: 'op-standard',
      would_change: false,
      remaining_active_keys: null,
      remaining_privileged_keys: null,
      open_invites: null,
      active_rules: null,
    })
    expect(await codeOf(client.operatorKeys.revoke('op-privileged', { dry_run: true }))).toBe(
      'last_active_operator_key',
    )
  })

  it('is refused when the response does not state that it was one', async () => {
    const metadata = await client.sovereign.metadata()
    const server = await listen(({ target }) => ({
      json: target === '/sovereign.json' ? asJson(metadata) : { treaty_id: 't', status: 'revoked' },
    }))
    const signer = await testSigner('op-privileged')
    const other = createAuthorityClient({ url: server.url, operator: { signer, audience: partnerKey }, retry: false })
    const failure = await failureOf(other.recognitionTreaties.revoke('t', { dry_run: true }))
    expect(failure).toBeInstanceOf(ResponseError)
    expect(String(failure)).toContain('may have been carried out')
    await server.close()
  })

  it('is not sent to an authority that does not say that it knows them, whatever it is about', async () => {
    const metadata = await client.sovereign.metadata()
    const { dry_run: _, ...supported_surfaces } = metadata.supported_surfaces
    const sent: string[] = []
    const server = await listen(({ method, target }) => {
      sent.push(`${method} ${target}`)
      return target === '/sovereign.json' ? { json: asJson({ ...metadata, supported_surfaces }) } : { json: {} }
    })
    const signer = await testSigner('op-privileged')
    const other = createAuthorityClient({ url: server.url, operator: { signer, audience: partnerKey }, retry: false })
    for (const dryRun of [
      other.crl.revoke({ cert_ids: ['c'], dry_run: true }),
      other.operatorKeys.revoke('op-standard', { dry_run: true }),
      other.attestations.revoke('a', { dry_run: true }),
      other.recognitionTreaties.revoke('t', { dry_run: true }),
    ])
      expect(await failureOf(dryRun)).toBeInstanceOf(DryRunUnsupportedError)
    expect(new Set(sent)).toEqual(new Set(['GET /sovereign.json']))
    await server.close()
  })
})
