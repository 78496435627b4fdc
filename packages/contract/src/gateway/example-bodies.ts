import type { JsonObject } from '@chancery/protocol'

/**
 * One body per operation that takes one (protocol/gateway 13.2): the members a caller fills in. Values in angle brackets
 * stand for a record, a key or a signature that only the caller has; the explorer replaces the times.
 */
const KEY = '<public key>'
const SIGNATURE = '<signature>'
const TIME = '2026-01-01T00:00:00Z'
const LATER = '2027-01-01T00:00:00Z'
const NONCE = '<random nonce>'

/** A record is pasted in whole: an invented one would be refused anyway. */
const record = (name: string): JsonObject => ({ paste: `<${name}>` })

const POLICY_INTENT: JsonObject = {
  policy_id: 'payments-limit',
  description: 'Payments stay below a limit.',
  valid_from: TIME,
  valid_until: LATER,
  selector: { capabilities: ['payments.transfer'] },
  gates: [
    {
      gate_id: 'limit',
      gate_type: 'max_value.v1',
      order: 1,
      mode: 'enforce',
      config: { path: 'request_parameters.amount', max: 1000 },
      disclose_input: false,
    },
  ],
}

const REASON: JsonObject = { reason: 'cessation_of_operation' }

export const EXAMPLE_BODIES: Readonly<Record<string, JsonObject>> = {
  'admin-label-node': { node_public_key: KEY, label: 'Berlin 3' },
  'admin-create-invite': { roles: ['role:client'], max_validity_hours: 24, token_expiry_hours: 24 },
  'admin-publish-policy': {
    min_client_version: '0.1.0',
    allowed_ports: [443, 8443],
    allowed_services: [],
    routing: {},
  },
  'admin-rollback-policy': { policy_id: '<policy id>' },
  'admin-revoke-certificate': { cert_id: '<certificate id>', reason: 'key_compromise' },
  'admin-revoke-operator-key': REASON,
  'agreement-build-offer-route': {
    responder_sovereign_id: '<sovereign id>',
    capabilities: ['payments.read'],
    scope: {},
    valid_from: TIME,
    valid_until: LATER,
    expires_at: LATER,
  },
  'agreement-build-counter-route': {
    offer: record('capability offer'),
    capabilities: ['payments.read'],
    scope: {},
    valid_from: TIME,
    valid_until: LATER,
  },
  'agreement-accept-route': { offer: record('capability offer') },
  'agreement-cosign-route': {
    agreement: record('agreement record'),
    original_offer: record('capability offer'),
  },
  'agreement-verify-route': {
    agreement: record('agreement record'),
    offerer_public_keys: [KEY],
    responder_public_keys: [KEY],
  },
  'attestations-issue-attestation': { subject_id: '<subject id>', roles: ['role:client'], validity_hours: 24 },
  'attestations-revoke-attestation': REASON,
  'attestations-save-recognition-policy': {
    recognition_policy: {
      local_sovereign_id: '<own sovereign id>',
      recognized_issuers: [{ sovereign_id: '<sovereign id>', public_keys: [KEY], allowed_roles: ['role:client'] }],
    },
  },
  'attestations-verify-attestation': {
    attestation: record('membership attestation'),
    recognition_policy: record('recognition policy'),
  },
  'boundary-decide': {
    agreement: record('agreement record'),
    requested_capability: 'payments.read',
    context: { request_parameters: {} },
  },
  'boundary-request': {
    action: 'boundary-request',
    audience: '<public key of the authority>',
    cert_id: '<certificate id>',
    attestation_id: '<attestation id>',
    requested_capability: 'payments.read',
    node_public_key: KEY,
    timestamp: TIME,
    nonce: NONCE,
    signature: SIGNATURE,
  },
  'boundary-verify': { decision: record('boundary decision'), operator_public_keys: [KEY] },
  'consensus-vote': { justification_proof: record('justification proof'), vote: true, reason: 'reviewed' },
  'consensus-proof': {
    justification_proof: record('justification proof'),
    votes: [record('validator vote')],
    required_threshold: 1,
    validator_sovereign_ids: ['<sovereign id>'],
  },
  'consensus-verify': { proof: record('consensus proof'), validator_public_keys: { '<sovereign id>': KEY } },
  'data_usage-create-policy': {
    licensee_sovereign_id: '<sovereign id>',
    allowed_source_ids: ['<source id>'],
    allowed_access_types: ['read'],
    max_volume_bytes_per_session: 1048576,
    prohibited_classification_tags: [],
    valid_from: TIME,
    valid_until: LATER,
  },
  'data_usage-create-intent': {
    sources: [{ source_id: '<source id>', classification_tags: [] }],
    access_types: ['read'],
    estimated_volume_bytes: 1024,
  },
  'data_usage-verify': { intent: record('data access intent'), policy: record('data license policy') },
  'disclosure-commit': { agreement: record('agreement record'), capabilities: ['payments.read'] },
  'disclosure-nullifier': { proof: record('capability membership proof') },
  'disclosure-prove': {
    capability: 'payments.read',
    capabilities: ['payments.read'],
    commitment: record('capability commitment'),
    prover_sovereign_id: '<sovereign id>',
  },
  'disclosure-verify': { proof: record('capability membership proof'), commitment: record('capability commitment') },
  'discovery-register-agent': {
    agent_id: 'agent-1',
    node_public_key: KEY,
    network_name: '<network name>',
    capabilities: ['payments.read'],
    endpoint: { host: 'agent.example.org', port: 443, scheme: 'https' },
    registered_at: TIME,
    expires_at: LATER,
    metadata: {},
    signatures: [{ key_id: KEY, sig: SIGNATURE }],
  },
  'discovery-delete-agent': { version: 'v1', signed_at: TIME, signature: SIGNATURE },
  'enrollment-request-join': {
    invite_token: '<invite token>',
    node_public_key: KEY,
    validity_hours: 24,
    timestamp: TIME,
    nonce: NONCE,
    signature: SIGNATURE,
  },
  'enrollment-heartbeat': {
    cert_id: '<certificate id>',
    status: 'active',
    node_public_key: KEY,
    timestamp: TIME,
    nonce: NONCE,
    signature: SIGNATURE,
  },
  'enrollment-renew-certificate': {
    cert_id: '<certificate id>',
    validity_hours: 24,
    node_public_key: KEY,
    timestamp: TIME,
    nonce: NONCE,
    signature: SIGNATURE,
  },
  'evidence-build': {
    decision: {
      source_sovereign_id: '<sovereign id>',
      target_sovereign_id: '<sovereign id>',
      verdict: 'allow',
      requested_roles: ['role:client'],
    },
  },
  'evidence-verify': { evidence: record('trust evidence'), issuer_public_keys: [KEY] },
  'partners-add': { url: 'https://na.partner.example', root_public_key: KEY, import_feeds: 'on' },
  'partners-update': { interval_seconds: 600 },
  'partners-pull': {},
  'partners-repin': { root_public_key: KEY, reason: 'The partner has a new root key.' },
  'partners-clear-alarm': { alarm_id: '<alarm id>', reason: 'The partner explained it.' },
  'partners-remove': { reason: 'The partnership ended.' },
  'treaties-issue-treaty': {
    subject_sovereign_id: '<sovereign id>',
    subject_public_keys: [KEY],
    scope: { allowed_roles: ['role:client'] },
    validity_hours: 168,
  },
  'treaties-revoke-treaty': REASON,
  'treaties-verify-treaty': { treaty: record('recognition treaty'), issuer_public_keys: [KEY] },
  'treaties-verify-attestation-with-treaty-route': {
    attestation: record('membership attestation'),
    treaty: record('recognition treaty'),
    issuer_public_keys: [KEY],
  },
  'treaties-import-sovereign-revocation-feed': {
    feed: record('sovereign revocation feed'),
    issuer_public_keys: { '<key id>': KEY },
  },
  'boundary_policy-validate-policy': POLICY_INTENT,
  'boundary_policy-publish-policy': POLICY_INTENT,
  'boundary_policy-activate-policy': { version: 1 },
  'boundary_policy-deactivate-policy': { version: 1 },
  'boundary_policy-evaluate': {
    attestation_id: '<attestation id>',
    requested_capability: 'payments.transfer',
    context: { request_parameters: { amount: 100 } },
  },
  'boundary_policy-verify-policy': { policy: record('boundary policy'), issuer_public_keys: [KEY] },
  'evidence_store-submit-execution': { evidence: record('execution evidence') },
  'evidence_store-register-executor-key': {
    key_id: 'executor-1',
    public_key: KEY,
    executor_sovereign_id: '<sovereign id>',
  },
  'evidence_store-retire-executor-key': {},
  'evidence_store-apply-retention': { older_than_days: 365 },
  'evidence_store-create-anchor': {},
}
