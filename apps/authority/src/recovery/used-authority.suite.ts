import { type JsonObject, readJson } from '@chancery/protocol'
import {
  accepted,
  createInvite,
  enroll,
  foreignFeed,
  foreignSovereign,
  nodeCaller,
  startTestAuthority,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority, TestAuthorityOptions } from '@chancery/testkit'

const SETTINGS = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
const BOUNDARY_POLICY = {
  policy_id: 'spending',
  valid_from: '2020-01-01T00:00:00Z',
  valid_until: '2090-01-01T00:00:00Z',
  gates: [
    { gate_id: 'limit', gate_type: 'max_value.v1', order: 0, config: { path: 'request_parameters.amount', max: 5 } },
  ],
}

/** An authority with one of everything: records of each kind, some of them revoked, evidence and its anchor. */
export async function startUsedAuthority(options: TestAuthorityOptions = {}): Promise<TestAuthority> {
  const na = await startTestAuthority({ ...options, settings: { ...SETTINGS, ...options.settings } })
  const post = async (target: string, body: JsonObject, status = 201): Promise<JsonObject> =>
    accepted(await na.as('privileged')('POST', target, body), status)
  // The first list and feed, before jobs make them at another time.
  accepted(await na.request('GET', '/crl'))
  accepted(await na.request('GET', '/sovereign-revocation-feed'))
  await post('/admin/policy', { policy_id: 'one' })
  await post('/admin/policy', { policy_id: 'two' })
  for (const name of ['a', 'b', 'c']) {
    const node = nodeCaller(na.url, await testSigner(name, name), () => na.core.clock.now())
    const { cert_id } = await enroll(na, node)
    await post('/admin/revoke', { cert_id }, 200)
  }
  await createInvite(na)
  const claims = { capabilities: ['secret.rotate'] }
  const attest = (subject_id: string) => post('/admin/attestations', { subject_id, roles: ['role:client'], claims })
  const attestation_id = String((await attest('vendor-1'))['attestation_id'])
  for (const subject of ['gone-1', 'gone-2']) {
    const gone = String((await attest(subject))['attestation_id'])
    await post(`/admin/attestations/${gone}/revoke`, { reason: 'left' }, 200)
  }
  const partner = foreignSovereign('PARTNER-NET')
  const treaty = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey] }
  await post('/admin/recognition-treaties', treaty)
  const ended = String((await post('/admin/recognition-treaties', treaty))['treaty_id'])
  await post(`/admin/recognition-treaties/${ended}/revoke`, { reason: 'ended' }, 200)
  const feed = readJson(wireText(foreignFeed(partner, 1, ['a-1', 'a-2']))) as JsonObject
  await post('/admin/sovereign-revocation-feeds/import', { feed }, 200)
  const issuer = { sovereign_id: 'PARTNER-NET', public_keys: [partner.publicKey], allowed_roles: ['role:client'] }
  const recognised = { ...issuer, accepted_statuses: ['active'] }
  const recognition_policy = {
    local_sovereign_id: 'TEST-NET',
    recognized_issuers: [recognised],
    revoked_attestation_ids: [],
  }
  await post('/admin/recognition-policy', { recognition_policy }, 200)
  await post('/admin/data-usage/policy', {
    licensee_sovereign_id: 'bolt-net',
    allowed_source_ids: ['src-1'],
    allowed_access_types: ['read'],
    max_volume_bytes_per_session: 1000,
    prohibited_classification_tags: [],
    valid_from: '2020-01-01T00:00:00Z',
    valid_until: '2090-01-01T00:00:00Z',
  })
  for (let version = 1; version <= 2; version += 1) await post('/admin/boundary-policies', BOUNDARY_POLICY)
  await post('/admin/boundary-policies/spending/activate', { version: 2 }, 200)
  for (let count = 0; count < 3; count += 1)
    await post('/admin/boundary/evaluate', { attestation_id, requested_capability: 'secret.rotate' })
  await post('/admin/evidence/anchors', {})
  return na
}
