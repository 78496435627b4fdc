import { describe, expect, it } from 'vitest'
import { EXCLUDED_ROUTES } from '../gateway/excluded-routes.ts'
import type { Access } from '../route.ts'
import { ALL_ROUTES } from './index.ts'

// operation, method, path, group, operator signature with tier (S standard, P privileged) or none.
const FIRST_CATALOGUE = [
  'admin-create-invite POST /admin/invite administration AS',
  'admin-publish-policy POST /admin/policy administration AP',
  'admin-policy-history GET /admin/policy/history administration AS',
  'admin-rollback-policy POST /admin/policy/rollback administration AP',
  'admin-revoke-certificate POST /admin/revoke administration AP',
  'admin-revoke-operator-key POST /admin/operator-keys/{key_id}/revoke administration AP',
  'agreement-build-offer-route POST /admin/agreements/offer agreement AS',
  'agreement-build-counter-route POST /admin/agreements/counter agreement AS',
  'agreement-accept-route POST /admin/agreements/accept agreement AS',
  'agreement-verify-route POST /agreements/verify agreement -',
  'attestations-issue-attestation POST /admin/attestations attestations AP',
  'attestations-revoke-attestation POST /admin/attestations/{attestation_id}/revoke attestations AP',
  'attestations-save-recognition-policy POST /admin/recognition-policy attestations AP',
  'attestations-get-recognition-policy GET /recognition-policy attestations -',
  'attestations-get-attestation GET /attestations/{attestation_id} attestations -',
  'attestations-list-attestations GET /attestations attestations -',
  'attestations-sovereign-revocation-feed GET /sovereign-revocation-feed attestations -',
  'attestations-verify-attestation POST /attestations/verify attestations -',
  'boundary-decide POST /admin/boundary/decide boundary AS',
  'boundary-verify POST /boundary/verify boundary -',
  'consensus-vote POST /admin/consensus/vote consensus AS',
  'consensus-proof POST /admin/consensus/proof consensus AS',
  'consensus-verify POST /consensus/verify consensus -',
  'crl-get-crl GET /crl network -',
  'data_usage-create-policy POST /admin/data-usage/policy data_usage AS',
  'data_usage-create-intent POST /admin/data-usage/intent data_usage AS',
  'data_usage-get-policy GET /data-usage/policy data_usage -',
  'data_usage-verify POST /data-usage/verify data_usage -',
  'disclosure-commit POST /admin/disclosure/commit disclosure AS',
  'disclosure-nullifier POST /admin/disclosure/nullifier disclosure AS',
  'disclosure-prove POST /disclosure/prove disclosure -',
  'disclosure-verify POST /disclosure/verify disclosure -',
  'discovery-register-agent POST /agents discovery -',
  'discovery-list-agents GET /agents discovery -',
  'discovery-get-agent GET /agents/{node_public_key} discovery -',
  'discovery-delete-agent DELETE /agents/{node_public_key} discovery -',
  'enrollment-request-join POST /join enrollment -',
  'enrollment-heartbeat POST /heartbeat enrollment -',
  'enrollment-renew-certificate POST /renew enrollment -',
  'evidence-build POST /admin/trust-evidence evidence AS',
  'evidence-verify POST /trust-evidence/verify evidence -',
  'health-health GET /health network -',
  'health-readyz GET /readyz network -',
  'health-list-nodes GET /nodes network AS',
  'public-dashboard-json GET /dashboard.json network -',
  'public-atlas-json GET /atlas.json network -',
  'public-get-genesis GET /genesis network -',
  'public-sovereign-metadata GET /sovereign.json network -',
  'public-get-policy GET /policy network -',
  'treaties-issue-treaty POST /admin/recognition-treaties treaties AP',
  'treaties-revoke-treaty POST /admin/recognition-treaties/{treaty_id}/revoke treaties AP',
  'treaties-get-treaty GET /recognition-treaties/{treaty_id} treaties -',
  'treaties-list-treaties GET /recognition-treaties treaties -',
  'treaties-verify-treaty POST /recognition-treaties/verify treaties -',
  'treaties-verify-attestation-with-treaty-route POST /attestations/verify-with-treaty treaties -',
  'treaties-import-sovereign-revocation-feed POST /admin/sovereign-revocation-feeds/import treaties AP',
  'treaties-recognition-graph GET /recognition-graph treaties -',
  'treaties-connectome-json GET /connectome.json treaties -',
  'treaties-connectome-trust-path GET /connectome/trust-path treaties -',
]

const LATER_ADDITIONS = [
  'boundary_policy-validate-policy POST /admin/boundary-policies/validate boundary_policy AS',
  'boundary_policy-publish-policy POST /admin/boundary-policies boundary_policy AP',
  'boundary_policy-list-policies GET /admin/boundary-policies boundary_policy AS',
  'boundary_policy-active-policies GET /admin/boundary-policies/active boundary_policy AS',
  'boundary_policy-policy-history GET /admin/boundary-policies/{policy_id}/history boundary_policy AS',
  'boundary_policy-activate-policy POST /admin/boundary-policies/{policy_id}/activate boundary_policy AP',
  'boundary_policy-deactivate-policy POST /admin/boundary-policies/{policy_id}/deactivate boundary_policy AP',
  'boundary_policy-evaluate POST /admin/boundary/evaluate boundary_policy AS',
  'boundary_policy-verify-policy POST /boundary-policies/verify boundary_policy -',
  'evidence_store-submit-execution POST /evidence/execution evidence_store -',
  'evidence_store-search GET /admin/evidence evidence_store AS',
  'evidence_store-status GET /admin/evidence/status evidence_store AS',
  'evidence_store-verify GET /admin/evidence/verify evidence_store AS',
  'evidence_store-resource-history GET /admin/evidence/resources/{resource_id} evidence_store AS',
  'evidence_store-resource-head GET /admin/evidence/resource-heads/{resource_id} evidence_store AS',
  'evidence_store-vendor-history GET /admin/evidence/vendors/{vendor_id} evidence_store AS',
  'evidence_store-export GET /admin/evidence/export evidence_store AS',
  'evidence_store-list-executor-keys GET /admin/evidence/executor-keys evidence_store AS',
  'evidence_store-register-executor-key POST /admin/evidence/executor-keys evidence_store AP',
  'evidence_store-retire-executor-key POST /admin/evidence/executor-keys/{key_id}/retire evidence_store AP',
  'evidence_store-apply-retention POST /admin/evidence/retention/apply evidence_store AP',
]

// Served by our authority beyond the 80.
const BEYOND = [
  'admin-list-certificates GET /admin/certificates administration AS',
  'admin-label-node POST /admin/nodes/label administration AS',
  'attestations-feed-index GET /sovereign-revocation-feed/index attestations -',
  'agreement-cosign-route POST /admin/agreements/cosign agreement AS',
  'attestations-feed-part GET /sovereign-revocation-feed/parts/{part} attestations -',
  'boundary-request POST /boundary/request boundary -',
  'partners-add POST /admin/partners partners AP',
  'partners-list GET /admin/partners partners AS',
  'partners-get GET /admin/partners/{sovereign_id} partners AS',
  'partners-update POST /admin/partners/{sovereign_id} partners AP',
  'partners-pull POST /admin/partners/{sovereign_id}/pull partners AS',
  'partners-repin POST /admin/partners/{sovereign_id}/repin partners AP',
  'partners-clear-alarm POST /admin/partners/{sovereign_id}/clear-alarm partners AP',
  'partners-remove POST /admin/partners/{sovereign_id}/remove partners AP',
  'partners-treaties GET /admin/partners/{sovereign_id}/treaties partners AS',
  'evidence_store-list-anchors GET /admin/evidence/anchors evidence_store AS',
  'evidence_store-create-anchor POST /admin/evidence/anchors evidence_store AS',
]

// Query names an operation forwards; lists also take limit and offset.
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  'attestations-list-attestations': ['issuer_sovereign_id', 'status', 'subject_id', 'limit', 'offset'],
  'attestations-sovereign-revocation-feed': ['issuer_sovereign_id'],
  'discovery-list-agents': ['capability', 'limit', 'offset'],
  'admin-policy-history': ['limit', 'offset'],
  'treaties-list-treaties': ['issuer_sovereign_id', 'status', 'subject_sovereign_id', 'limit', 'offset'],
  'treaties-connectome-trust-path': ['from', 'to', 'source', 'target'],
  'admin-list-certificates': [
    'cert_id',
    'cursor',
    'expires_before',
    'issued_since',
    'issued_until',
    'label',
    'limit',
    'node_public_key',
    'role',
    'state',
  ],
  'evidence_store-search': [
    'after_sequence',
    'attestation_id',
    'capability',
    'decision_id',
    'entry_kind',
    'limit',
    'outcome',
    'resource_id',
    'since',
    'until',
    'vendor_id',
  ],
  'evidence_store-export': ['limit', 'since_sequence'],
  'evidence_store-list-anchors': ['after_anchor', 'limit'],
  'partners-list': ['cursor', 'limit', 'state'],
  'partners-treaties': ['cursor', 'limit'],
}

function signature(access: Access, signed: boolean): string {
  if (access === 'operator:privileged') return 'AP'
  return access === 'operator:standard' || signed ? 'AS' : '-'
}

const catalogue = ALL_ROUTES.flatMap((route) => (route.gateway ? [{ route, gateway: route.gateway }] : []))

function lines(stored: (since: string | undefined) => boolean): string[] {
  return catalogue
    .filter(({ gateway }) => stored(gateway.since))
    .map(({ route, gateway }) =>
      [
        gateway.operation,
        route.method,
        route.path,
        gateway.group,
        signature(route.access, gateway.signed === true),
      ].join(' '),
    )
    .toSorted()
}

describe('gateway catalogue', () => {
  it('has exactly the 59 operations of the first catalogue', () => {
    expect(FIRST_CATALOGUE).toHaveLength(59)
    expect(lines((since) => since === undefined)).toEqual(FIRST_CATALOGUE.toSorted())
  })

  it('has exactly the 21 later operations', () => {
    expect(LATER_ADDITIONS).toHaveLength(21)
    expect(lines((since) => since === 'v0.58' || since === 'v0.59')).toEqual(LATER_ADDITIONS.toSorted())
  })

  it('has exactly 17 operations beyond the 80', () => {
    const hint = 'a new operation is added by hand to BEYOND of this file, and to the number below'
    expect(
      lines((since) => since === 'v0.60'),
      hint,
    ).toEqual(BEYOND.toSorted())
    expect(catalogue).toHaveLength(97)
  })

  it('dates boundary policies to v0.58 and the evidence store to v0.59', () => {
    for (const { gateway } of catalogue) {
      if (gateway.group === 'boundary_policy') expect(gateway.since).toBe('v0.58')
      else if (gateway.since === 'v0.60') continue
      else if (gateway.group === 'evidence_store') expect(gateway.since).toBe('v0.59')
      else expect(gateway.since).toBeUndefined()
    }
  })

  it('never uses an operation id twice', () => {
    expect(new Set(catalogue.map(({ gateway }) => gateway.operation)).size).toBe(97)
  })

  it('forwards exactly the listed query names, in name order', () => {
    const given = Object.fromEntries(
      catalogue.flatMap(({ gateway }) => (gateway.query ? [[gateway.operation, gateway.query]] : [])),
    )
    const expected = Object.fromEntries(
      Object.entries(QUERIES).map(([operation, query]) => [operation, query.toSorted()]),
    )
    expect(given).toEqual(expected)
  })

  it('leaves no authority route undecided: each is catalogued, or excluded for a written reason', () => {
    const left = ALL_ROUTES.filter((route) => route.gateway === undefined).map((route) => route.id)
    expect(left.toSorted()).toEqual(Object.keys(EXCLUDED_ROUTES).toSorted())
    for (const reason of Object.values(EXCLUDED_ROUTES)) expect(reason).toMatch(/^[A-Z].+\.$/)
  })

  it('excludes on purpose what describes pages, files and the process', () => {
    const named = ['GET /metrics', 'GET /healthz', 'GET /swagger.json', 'GET /surfaces'] as const
    for (const id of named) expect(EXCLUDED_ROUTES).toHaveProperty([id])
    for (const { id, response: answer } of ALL_ROUTES)
      if (answer === 'html' || answer === 'static') expect(EXCLUDED_ROUTES).toHaveProperty([id])
  })
})
