// oxlint-disable max-lines -- one table of all error codes
/** One refusal: its usual status, a safe text, and the stability of the code. */
export interface ErrorEntry {
  readonly status: number
  readonly message: string
  readonly stability: 'stable' | 'beta'
}

type ErrorLine = Omit<ErrorEntry, 'stability'>

// Codes published with the first surface: their values never change within 1.x; messages may (protocol/core 30).
// One line per code with its usual status. A route with another status states it in its own entry.
const STABLE_ERRORS = {
  // Bare statuses and input shape
  bad_request: { status: 400, message: 'The request is malformed. Check path, headers and body.' },
  unauthorized: { status: 401, message: 'Reserved: the authority does not raise it. A credential is required.' },
  forbidden: { status: 403, message: 'Reserved: the authority does not raise it. You are not allowed to do this.' },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, message: 'This path does not take that method. See the Allow header.' },
  conflict: { status: 409, message: 'The request conflicts with stored state. Read the state again first.' },
  request_entity_too_large: { status: 413, message: 'The body is too large.' },
  rate_limit_exceeded: { status: 429, message: 'Too many requests. Wait for the time in Retry-After.' },
  internal_server_error: { status: 500, message: 'Unexpected error.' },
  service_unavailable: { status: 503, message: 'The service cannot do this at the moment. Try again later.' },
  service_not_ready: { status: 503, message: 'This instance is not ready. See the checks in details.' },
  validation_failed: {
    status: 422,
    message: 'Reserved: the authority does not raise it. The record does not validate.',
  },
  request_validation_failed: {
    status: 422,
    message: 'Reserved: the authority does not raise it. The request does not match its schema.',
  },
  unexpected_field: { status: 400, message: 'The request has members this route does not take. See details.fields.' },
  invalid_json: { status: 400, message: 'The body is not valid JSON.' },
  invalid_json_object: { status: 400, message: 'The body must be a JSON object.' },
  invalid_input: { status: 400, message: 'A field has the wrong type or is out of bounds.' },
  invalid_page: { status: 400, message: 'A paging parameter is out of range or unreadable.' },
  invalid_signature: { status: 401, message: 'The signature does not verify.' },
  missing_signature: { status: 400, message: 'The record carries no signature.' },
  invalid_signed_at: { status: 400, message: 'signed_at must be an ISO 8601 time.' },
  signed_at_outside_window: { status: 401, message: 'signed_at is too far from now. Check the clock and sign again.' },
  invalid_timestamps: { status: 400, message: 'A time is missing or not ISO 8601.' },
  invalid_timestamp_order: { status: 400, message: 'valid_from must be before valid_until.' },
  invalid_public_key: { status: 400, message: 'A public key must be 32 bytes of Ed25519 in padded base64.' },
  invalid_public_keys: { status: 400, message: 'Public keys must be 32 bytes of Ed25519 in padded base64, each once.' },

  // Callers
  admin_auth_failed: { status: 401, message: 'Operator authentication failed.' },
  insufficient_operator_tier: { status: 403, message: 'This operator key lacks the tier for this route.' },
  unknown_operator_key: { status: 404, message: 'No operator key with this id is configured.' },
  last_active_operator_key: {
    status: 409,
    message: 'The last usable operator key, or the last privileged one, must stay. Add another first.',
  },
  node_auth_failed: { status: 401, message: 'Node authentication failed.' },

  // Enrollment and certificates
  missing_invite_token: { status: 403, message: 'An invite token is required. Ask an operator for one.' },
  invalid_invite_token: { status: 403, message: 'The invite token cannot be used. Ask an operator for a new one.' },
  missing_node_public_key: { status: 400, message: 'node_public_key is required.' },
  invalid_role: { status: 400, message: 'Roles must be a list of role:name texts that may be granted here.' },
  invalid_validity_hours: { status: 400, message: 'validity_hours must be a whole number within the allowed range.' },
  invalid_max_validity_hours: { status: 400, message: 'max_validity_hours must be a whole number from 1 to 8760.' },
  invalid_token_expiry_hours: { status: 400, message: 'token_expiry_hours must be a whole number from 1 to 720.' },
  missing_certificate_identity: { status: 400, message: 'cert_id and node_public_key are required.' },
  certificate_not_found: { status: 403, message: 'No certificate with this id was issued here.' },
  certificate_key_mismatch: { status: 403, message: 'The certificate belongs to another node key.' },
  certificate_revoked: { status: 403, message: 'The certificate is revoked. Join again with a new invite.' },
  node_key_compromised: { status: 403, message: 'This node key was revoked as compromised. Use a new key.' },
  renewal_role_change_forbidden: { status: 403, message: 'A renewal cannot change roles. Send the same or none.' },
  missing_cert_id: { status: 400, message: 'cert_id or cert_ids is required.' },
  invalid_revocation_reason: { status: 400, message: 'The reason is not one of the allowed values.' },
  crl_publish_contention: { status: 409, message: 'Other revocations were published at the same time. Try again.' },

  // Agents
  agent_not_registered: { status: 404, message: 'No agent is registered under this node key.' },
  invalid_agent_descriptor: { status: 400, message: 'The agent descriptor does not match its schema.' },
  descriptor_expired: { status: 400, message: 'The descriptor is outside its time or replaced. Sign a new one.' },
  descriptor_network_mismatch: { status: 400, message: 'The descriptor names another network.' },
  descriptor_signature_required: { status: 401, message: 'The descriptor must be signed by the node key.' },
  delete_signature_required: { status: 401, message: 'signature and signed_at are required to remove an agent.' },
  node_has_no_active_certificate: { status: 403, message: 'The node key has no valid certificate. Join first.' },
  node_key_revoked: { status: 403, message: 'The node key is revoked.' },

  // Policy manifest and recognition
  invalid_policy: { status: 400, message: 'The policy does not match its schema. See details.' },
  missing_policy: { status: 400, message: 'policy is required.' },
  missing_policy_id: { status: 400, message: 'policy_id is required.' },
  policy_not_found: { status: 404, message: 'No policy version with this id is stored.' },
  attestation_not_found: { status: 404, message: 'No attestation with this id was issued here.' },
  invalid_attestation_id: { status: 400, message: 'attestation_id must be a non-empty text.' },
  missing_attestation_subject: { status: 400, message: 'subject_id and at least one role are required.' },
  invalid_attestation_or_policy: { status: 422, message: 'The attestation or the policy does not match its schema.' },
  invalid_attestation_or_treaty: { status: 422, message: 'The attestation or the treaty does not match its schema.' },
  missing_recognition_policy: { status: 400, message: 'No recognition policy was sent and none is active.' },
  invalid_recognition_policy: { status: 422, message: 'The recognition policy does not match its schema.' },
  recognition_policy_not_configured: { status: 404, message: 'No recognition policy is set.' },
  budget_not_found: { status: 404, message: 'No counter with this key has an open window.' },
  evidence_store_required: { status: 409, message: 'Budgets need the evidence store: set EVIDENCE_STORE=on.' },
  treaty_not_found: { status: 404, message: 'No recognition treaty with this id is stored.' },
  invalid_recognition_treaty: { status: 422, message: 'The recognition treaty is malformed or names this sovereign.' },
  missing_treaty_subject: { status: 400, message: 'subject_sovereign_id and subject_public_keys are required.' },
  empty_subject_public_keys: { status: 400, message: 'subject_public_keys needs at least one key.' },
  invalid_treaty_scope: { status: 422, message: 'The treaty scope does not match its schema.' },
  invalid_sovereign_revocation_feed: { status: 400, message: 'The feed is malformed or jumps too far ahead.' },
  missing_issuer_public_keys: {
    status: 400,
    message: 'The authority has no key of this issuer. Send issuer_public_keys.',
  },
  wrong_issuer: { status: 400, message: 'The issuer is not the expected sovereign.' },
  stale_sequence: { status: 409, message: 'A feed with this or a later sequence is already stored.' },
  missing_trust_path_parameters: { status: 400, message: 'The query parameters from and to are required.' },

  // Agreements
  missing_offer_fields: { status: 400, message: 'responder_sovereign_id and capabilities are required.' },
  invalid_offer: { status: 400, message: 'The offer does not match its schema.' },
  offer_rejected: { status: 422, message: 'The offer could not be built from these terms.' },
  missing_counter_fields: { status: 400, message: 'offer and capabilities are required.' },
  counter_rejected: { status: 422, message: 'The offer cannot be countered with these terms.' },
  missing_accept_fields: { status: 400, message: 'Send either offer, or counter with original_offer.' },
  accept_rejected: { status: 422, message: 'The offer or counter cannot be accepted.' },
  missing_agreement: { status: 400, message: 'agreement is required.' },
  invalid_agreement: { status: 400, message: 'The agreement does not match its schema.' },

  // Boundary decisions and policies
  ambiguous_basis: { status: 400, message: 'Give exactly one of agreement, attestation_id and presented.' },
  missing_boundary_fields: { status: 400, message: 'A basis and requested_capability are required.' },
  invalid_context: { status: 400, message: 'The context does not match its schema.' },
  boundary_policy_required: { status: 409, message: 'Policies are enforced here. Use POST /admin/boundary/evaluate.' },
  boundary_eval_failed: { status: 422, message: 'The decision could not be made.' },
  missing_decision: { status: 400, message: 'decision is required.' },
  invalid_decision: { status: 400, message: 'The decision does not match its schema.' },
  missing_validity_window: { status: 400, message: 'valid_from and valid_until are required.' },
  invalid_boundary_policy: { status: 400, message: 'The policy does not match its schema. See details.errors.' },
  boundary_policy_invalid: { status: 400, message: 'The policy has problems. See details.issues.' },
  invalid_policy_version: { status: 400, message: 'version must be a whole number of at least 1.' },
  boundary_policy_not_found: { status: 404, message: 'No such boundary policy version is stored.' },
  boundary_policy_not_active: { status: 409, message: 'This boundary policy version is not active.' },
  boundary_policy_integrity_failed: { status: 409, message: 'The stored policy no longer matches its digest.' },
  boundary_policy_activation_refused: { status: 409, message: 'This version cannot be activated. See details.reason.' },
  boundary_policy_activation_conflict: { status: 409, message: 'Another version was activated just now. Try again.' },
  boundary_policy_version_conflict: { status: 409, message: 'Other versions were published just now. Try again.' },

  // Evidence store
  evidence_store_disabled: { status: 404, message: 'The evidence store is off. Start with EVIDENCE_STORE=on.' },
  evidence_store_unavailable: { status: 503, message: 'The evidence store cannot be written. Try again later.' },
  evidence_malformed: { status: 422, message: 'The evidence does not match its schema.' },
  evidence_unknown_executor: { status: 422, message: 'The executor key is unknown, foreign or retired.' },
  evidence_invalid_signature: { status: 422, message: 'The evidence is unsigned or its signature does not verify.' },
  evidence_decision_not_found: { status: 422, message: 'The decision is not in the store.' },
  evidence_decision_denied: { status: 422, message: 'The decision does not authorize anything.' },
  evidence_decision_mismatch: { status: 422, message: 'The evidence names another context or agreement.' },
  evidence_outside_decision_window: {
    status: 422,
    message: 'executed_at is outside the validity period of the decision.',
  },
  evidence_capability_mismatch: { status: 422, message: 'The executed capability is not the decided one.' },
  evidence_chain_gap: { status: 422, message: 'An earlier record of this decision is missing.' },
  evidence_chain_mismatch: { status: 422, message: 'The record does not continue the last one of this decision.' },
  resource_chain_gap: { status: 422, message: 'An earlier record of this resource is missing.' },
  resource_chain_mismatch: { status: 422, message: 'The record does not continue the head of this resource.' },
  evidence_secret_material: { status: 422, message: 'The evidence seems to contain a secret. Send metadata only.' },
  evidence_conflict: { status: 409, message: 'This position or evidence_id is taken by another record.' },
  missing_executor_key_fields: { status: 400, message: 'key_id, public_key, executor_sovereign_id are required.' },
  executor_key_exists: { status: 409, message: 'This key id is taken. Choose another.' },
  executor_key_not_found: { status: 404, message: 'No executor key with this id is registered.' },
  executor_key_retired: { status: 409, message: 'This executor key is already retired.' },
  vendor_not_found: { status: 404, message: 'The store has no entry of this vendor.' },
  resource_not_found: { status: 404, message: 'The store has no entry of this resource.' },
  invalid_retention: { status: 400, message: 'older_than_days must be a whole number of at least 1.' },
  retention_in_progress: { status: 409, message: 'Retention already runs. Try again when it is done.' },

  // Trust evidence, disclosure, consensus
  missing_evidence: { status: 400, message: 'evidence is required.' },
  invalid_evidence: { status: 400, message: 'The evidence does not match its schema.' },
  evidence_build_failed: { status: 422, message: 'The trust evidence could not be built.' },
  missing_commit_fields: { status: 400, message: 'capabilities and agreement are required.' },
  commit_failed: { status: 422, message: 'The capabilities must be distinct and agreed.' },
  missing_prove_fields: { status: 400, message: 'A field needed for the proof is missing.' },
  invalid_commitment: { status: 400, message: 'The commitment does not match its schema.' },
  prove_failed: { status: 422, message: 'The capability cannot be proved against this commitment.' },
  missing_verify_fields: { status: 400, message: 'Both records to verify are required.' },
  missing_proof: { status: 400, message: 'proof is required.' },
  invalid_proof: { status: 400, message: 'The proof does not match its schema.' },
  nullifier_failed: { status: 422, message: 'The nullifier could not be issued.' },
  missing_vote_fields: { status: 400, message: 'justification_proof and vote are required.' },
  invalid_justification: { status: 400, message: 'The justification proof or the reason is malformed.' },
  vote_failed: { status: 422, message: 'The vote could not be cast.' },
  missing_proof_fields: { status: 400, message: 'Proof, votes, threshold and validators are required.' },
  proof_assembly_failed: { status: 422, message: 'These votes do not make a consensus.' },
  missing_validator_public_keys: { status: 400, message: 'validator_public_keys must name a key per validator.' },

  // Data usage
  no_policy: { status: 404, message: 'No data license policy is active.' },
  missing_policy_fields: { status: 400, message: 'A field of the policy is missing or has the wrong type.' },
  policy_sign_failed: { status: 422, message: 'The policy could not be signed.' },
  missing_intent_fields: { status: 400, message: 'sources and access_types are required.' },
  invalid_source: { status: 400, message: 'A source is missing a field or has a wrong type.' },
  intent_create_failed: { status: 422, message: 'The intent could not be created.' },
} as const

// Codes that came after the first surface; they may still change in a minor version.
const BETA_ERRORS = {
  request_timeout: { status: 408, message: 'The request did not arrive in time. Send it again.' },
  request_uri_too_large: {
    status: 414,
    message: 'Reserved: the authority does not raise it. The path and query are too long.',
  },
  unsupported_media_type: { status: 415, message: 'Send application/json without content encoding.' },
  too_many_verifications: { status: 400, message: 'Too many signatures for so many keys. Send fewer keys.' },
  request_header_fields_too_large: { status: 431, message: 'The headers are too large.' },
  asset_not_found: { status: 404, message: 'There is no such file.' },
  key_list_not_found: { status: 404, message: 'There is no revocation list for this key id.' },
  crl_delta_not_found: { status: 404, message: 'There is no delta from this list. Load the full list.' },
  crl_version_not_found: { status: 404, message: 'No revocation list with this sequence is stored.' },
  key_history_not_found: { status: 404, message: 'This authority has had one key only.' },
  admin_auth_throttled: { status: 429, message: 'Too many failed authentications. Wait for the time in Retry-After.' },
  certificate_expired: { status: 403, message: 'The certificate is expired. Join again with a new invite.' },
  certificate_not_yet_valid: { status: 403, message: 'The certificate is not valid yet. Check the clock.' },
  certificate_superseded: { status: 403, message: 'The certificate was renewed. Use the new one.' },
  invalid_recipient_public_key: { status: 400, message: 'recipient_public_key must be a public key or null.' },
  attestation_issuer_mismatch: { status: 400, message: 'Attestations are issued in the name of this sovereign only.' },
  feed_issuer_mismatch: { status: 400, message: 'Only the feed of this sovereign is served here.' },
  caller_keys_not_accepted: { status: 422, message: 'A record of this authority is checked with its own keys only.' },
  agreement_untrusted: { status: 422, message: 'The agreement is not trusted. See details.reason.' },
  context_party_mismatch: { status: 400, message: 'The context names a party the agreement does not have.' },
  invalid_join_evidence: { status: 400, message: 'evidence needs rule_id and token, and for X.509 certificate_chain.' },
  evidence_refused: { status: 403, message: 'The evidence does not admit this node. See details.reason.' },
  evidence_required: { status: 403, message: 'This certificate came from evidence. Renew it with fresh evidence.' },
  invalid_admission_rule: { status: 400, message: 'The rule is malformed or too wide. See details.field and problem.' },
  admission_rule_not_found: { status: 404, message: 'There is no admission rule with this id.' },
  node_not_found: { status: 404, message: 'No certificate of this node key was issued here.' },
  invalid_attestation: { status: 400, message: 'The presented attestation does not match its schema.' },
  attestation_not_bound: { status: 403, message: 'This key has no such attestation.' },
  attestation_untrusted: { status: 403, message: 'The attestation is not trusted here. See details.reason.' },
  context_too_large: { status: 413, message: 'The context is larger than 16 KiB in canonical form.' },
  daily_bytes_exceeded: {
    status: 429,
    message: 'This key or partner has used its bytes of the day. See details.ends_at.',
  },
  signing_unavailable: { status: 503, message: 'The key of the authority cannot sign now. Nothing was stored.' },
  disk_space_low: {
    status: 503,
    message: 'Too little disk space is left for decisions and evidence. Try again later.',
  },
  relay_not_allowed: { status: 403, message: 'This certificate has no role that may ask for others.' },
  node_decisions_disabled: { status: 404, message: 'Decisions for nodes are off. See NA_NODE_DECISIONS.' },
  caller_proof_rejected: { status: 422, message: 'The proof of the caller does not verify. See details.reason.' },
  invalid_partner: { status: 400, message: 'A member of the partner is missing or not allowed. See details.field.' },
  partner_not_found: { status: 404, message: 'There is no partner with this name.' },
  wimse_disabled: {
    status: 404,
    message: 'Workload identity tokens are off at this authority (NA_WIMSE_TRUST_DOMAIN).',
  },
  partners_disabled: { status: 404, message: 'Partners are off at this authority (NA_PARTNERS).' },
  alarm_not_found: { status: 404, message: 'The partner has no alarm with this id.' },
  boundary_policy_text_not_found: { status: 404, message: 'No such policy text is stored.' },
  treaty_ended: { status: 409, message: 'The recognition treaty has ended already.' },
  partner_exists: { status: 409, message: 'There is a partner with this name already.' },
  partner_limit: { status: 409, message: 'No more partners can be added here (NA_PARTNERS_MAX).' },
  pull_in_progress: { status: 409, message: 'Another pull of this partner runs. Try again later.' },
  partner_mismatch: { status: 422, message: 'The partner shows another name or key. See details.reason.' },
  partner_unreachable: { status: 422, message: 'The partner cannot be read. See details.reason.' },
  feed_part_not_found: { status: 404, message: 'The feed has no part of this number. Read its index again.' },
  import_capacity: {
    status: 409,
    message: 'The feed has more ids than are stored for one issuer. Nothing was imported.',
  },
  revocation_feed_full: { status: 409, message: 'The revocation feed of this authority is full. Nothing was revoked.' },
  evidence_anchor_refused: { status: 409, message: 'The store no longer continues from its last anchor.' },
  invalid_threshold: { status: 400, message: 'required_threshold must be between 1 and the number of validators.' },
  invalid_vote_type: { status: 400, message: 'vote must be true or false.' },
  missing_cosign_fields: { status: 400, message: 'agreement and original_offer are required.' },
  cosign_rejected: { status: 422, message: 'The agreement cannot be signed by the offerer.' },
  justification_untrusted: {
    status: 422,
    message: 'The justification proof is not signed by a key that is trusted for its issuer.',
  },
} as const

export type ErrorCode = keyof typeof STABLE_ERRORS | keyof typeof BETA_ERRORS

/** Every code. Server, library, documents and tests read it; no other table has a status. */
export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = {
  ...withStability(STABLE_ERRORS, 'stable'),
  ...withStability(BETA_ERRORS, 'beta'),
}

/** Whether a text, for example from a foreign answer, is a code of this table. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text)
}

function withStability<Code extends string>(
  lines: Readonly<Record<Code, ErrorLine>>,
  stability: ErrorEntry['stability'],
): Record<Code, ErrorEntry> {
  const entries = Object.entries<ErrorLine>(lines).map(([code, line]) => [code, { ...line, stability }])
  // The type of Object.fromEntries has no names; they are those of `lines`.
  return Object.fromEntries(entries) as Record<Code, ErrorEntry>
}
