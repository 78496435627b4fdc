import { findPolicyIssues, readPolicyIntent } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { GATEWAY_OPERATIONS, findOperation } from './operations.ts'

/** protocol/gateway 13.2. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  'admin-create-invite': ['roles', 'max_validity_hours', 'token_expiry_hours'],
  'admin-publish-policy': ['min_client_version', 'allowed_ports', 'allowed_services', 'routing'],
  'admin-rollback-policy': ['policy_id'],
  'admin-revoke-certificate': ['cert_id', 'reason'],
  'admin-revoke-operator-key': ['reason'],
  'attestations-issue-attestation': ['subject_id', 'roles', 'validity_hours'],
  'attestations-revoke-attestation': ['reason'],
  'attestations-save-recognition-policy': ['recognition_policy'],
  'attestations-verify-attestation': ['attestation', 'recognition_policy'],
  'discovery-delete-agent': ['version', 'signed_at', 'signature'],
  'enrollment-request-join': ['invite_token', 'node_public_key', 'validity_hours', 'timestamp', 'nonce', 'signature'],
  'enrollment-heartbeat': ['cert_id', 'status', 'node_public_key', 'timestamp', 'nonce', 'signature'],
  'enrollment-renew-certificate': ['cert_id', 'validity_hours', 'node_public_key', 'timestamp', 'nonce', 'signature'],
  'treaties-issue-treaty': ['subject_sovereign_id', 'subject_public_keys', 'scope', 'validity_hours'],
  'treaties-revoke-treaty': ['reason'],
  'treaties-verify-treaty': ['treaty', 'issuer_public_keys'],
  'treaties-verify-attestation-with-treaty-route': ['attestation', 'treaty', 'issuer_public_keys'],
  'treaties-import-sovereign-revocation-feed': ['feed', 'issuer_public_keys'],
  'evidence_store-register-executor-key': ['key_id', 'public_key', 'executor_sovereign_id'],
  'evidence_store-apply-retention': ['older_than_days'],
  'evidence_store-submit-execution': ['evidence'],
}

describe('the catalogue', () => {
  it('has a body for exactly the operations that take one', () => {
    for (const { id, method, body } of GATEWAY_OPERATIONS) expect(body === null, id).toBe(method === 'GET')
  })

  it('names the reviewed members', () => {
    for (const [id, members] of Object.entries(MEMBERS)) {
      expect(Object.keys(findOperation(id)?.body ?? {}), id).toEqual(members)
    }
  })

  it('shows a boundary policy that would be accepted', () => {
    const body = findOperation('boundary_policy-publish-policy')?.body ?? {}
    const reading = readPolicyIntent(String(body['policy_id']), body)
    expect(reading.ok && findPolicyIssues(reading.intent, reading)).toEqual([])
  })

  it('forwards lines from the export only, with the larger bound', () => {
    const lines = GATEWAY_OPERATIONS.filter(({ response }) => response === 'ndjson')
    expect(lines.map(({ id, max_response_bytes }) => [id, max_response_bytes])).toEqual([
      ['evidence_store-export', 8_388_608],
    ])
    const others = GATEWAY_OPERATIONS.filter(({ response }) => response === 'json')
    const larger = others.filter(({ max_response_bytes }) => max_response_bytes !== 2_097_152)
    expect(larger.map(({ id, max_response_bytes }) => [id, max_response_bytes])).toEqual([
      ['attestations-feed-part', 4_194_304],
    ])
  })

  it('finds by exact id only', () => {
    expect(findOperation('crl-get-crl')?.upstream_path).toBe('/crl')
    for (const id of ['__proto__', 'constructor', 'CRL-GET-CRL', 'crl-get-crl ', ''])
      expect(findOperation(id)).toBeUndefined()
  })
})
