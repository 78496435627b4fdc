import { describe, expect, it } from 'vitest'
import { ERRORS, isErrorCode } from './errors.ts'

// protocol/core 23 and protocol/trust-operations 10, by usual status.
const STABLE: Readonly<Record<number, string>> = {
  400: `
    bad_request unexpected_field invalid_json invalid_json_object invalid_input invalid_page invalid_signed_at
    invalid_timestamps invalid_timestamp_order missing_signature invalid_validity_hours invalid_max_validity_hours
    invalid_token_expiry_hours invalid_role missing_node_public_key invalid_public_key invalid_public_keys
    empty_subject_public_keys missing_cert_id missing_certificate_identity invalid_revocation_reason
    invalid_agent_descriptor descriptor_expired descriptor_network_mismatch invalid_policy invalid_policy_version
    missing_policy missing_policy_fields missing_policy_id invalid_attestation_id missing_attestation_subject
    missing_recognition_policy missing_treaty_subject invalid_sovereign_revocation_feed missing_issuer_public_keys
    wrong_issuer missing_trust_path_parameters
    ambiguous_basis boundary_policy_invalid invalid_agreement invalid_boundary_policy invalid_commitment
    invalid_context invalid_decision invalid_evidence invalid_justification invalid_offer invalid_proof
    invalid_retention invalid_source missing_accept_fields missing_agreement missing_boundary_fields
    missing_commit_fields missing_counter_fields missing_decision missing_evidence missing_executor_key_fields
    missing_intent_fields missing_offer_fields missing_proof missing_proof_fields missing_prove_fields
    missing_validator_public_keys missing_validity_window missing_verify_fields missing_vote_fields`,
  401: `
    admin_auth_failed node_auth_failed unauthorized invalid_signature signed_at_outside_window
    descriptor_signature_required delete_signature_required`,
  403: `
    forbidden insufficient_operator_tier invalid_invite_token missing_invite_token certificate_key_mismatch
    certificate_not_found certificate_revoked node_has_no_active_certificate node_key_compromised node_key_revoked
    renewal_role_change_forbidden`,
  404: `
    unknown_operator_key not_found no_policy policy_not_found recognition_policy_not_configured agent_not_registered
    attestation_not_found treaty_not_found boundary_policy_not_found evidence_store_disabled executor_key_not_found
    resource_not_found vendor_not_found`,
  405: 'method_not_allowed',
  409: `
    last_active_operator_key conflict stale_sequence crl_publish_contention boundary_policy_activation_conflict
    boundary_policy_activation_refused boundary_policy_integrity_failed boundary_policy_not_active
    boundary_policy_required boundary_policy_version_conflict evidence_conflict executor_key_exists
    executor_key_retired retention_in_progress`,
  413: 'request_entity_too_large',
  422: `
    validation_failed request_validation_failed policy_sign_failed invalid_attestation_or_policy
    invalid_attestation_or_treaty invalid_recognition_policy invalid_recognition_treaty invalid_treaty_scope
    accept_rejected boundary_eval_failed commit_failed counter_rejected evidence_build_failed
    evidence_capability_mismatch evidence_chain_gap evidence_chain_mismatch evidence_decision_denied
    evidence_decision_mismatch evidence_decision_not_found evidence_invalid_signature evidence_malformed
    evidence_outside_decision_window evidence_secret_material evidence_unknown_executor intent_create_failed
    nullifier_failed offer_rejected proof_assembly_failed prove_failed resource_chain_gap resource_chain_mismatch
    vote_failed`,
  429: 'rate_limit_exceeded',
  500: 'internal_server_error',
  503: 'service_not_ready service_unavailable evidence_store_unavailable',
}

const BETA: Readonly<Record<number, string>> = {
  400: `
    invalid_recipient_public_key attestation_issuer_mismatch feed_issuer_mismatch context_party_mismatch
    invalid_attestation invalid_threshold invalid_vote_type missing_cosign_fields too_many_verifications invalid_partner
    invalid_admission_rule invalid_join_evidence`,
  403: `
    attestation_not_bound attestation_untrusted certificate_expired certificate_not_yet_valid certificate_superseded
    relay_not_allowed evidence_refused evidence_required`,
  404: `
    wimse_disabled asset_not_found feed_part_not_found key_list_not_found crl_delta_not_found crl_version_not_found key_history_not_found node_decisions_disabled node_not_found
    partner_not_found partners_disabled alarm_not_found boundary_policy_text_not_found admission_rule_not_found`,
  408: 'request_timeout',
  409: 'treaty_ended evidence_anchor_refused import_capacity revocation_feed_full partner_exists partner_limit pull_in_progress',
  413: 'context_too_large',
  414: 'request_uri_too_large',
  415: 'unsupported_media_type',
  422: `
    caller_keys_not_accepted caller_proof_rejected agreement_untrusted cosign_rejected justification_untrusted
    partner_mismatch partner_unreachable`,
  429: 'admin_auth_throttled daily_bytes_exceeded',
  431: 'request_header_fields_too_large',
  503: 'signing_unavailable disk_space_low',
}

function statusesOf(table: Readonly<Record<number, string>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([status, codes]) =>
      codes
        .trim()
        .split(/\s+/)
        .map((code) => [code, Number(status)]),
    ),
  )
}

function given(stability: 'stable' | 'beta'): Record<string, number> {
  return Object.fromEntries(
    Object.entries(ERRORS)
      .filter(([, entry]) => entry.stability === stability)
      .map(([code, entry]) => [code, entry.status]),
  )
}

describe('the table of errors', () => {
  it('holds every stable code with its usual status and no other', () => {
    expect(given('stable'), 'a new code is added by hand to STABLE of this file').toEqual(statusesOf(STABLE))
  })

  it('holds every beta code with its usual status and no other', () => {
    expect(given('beta'), 'a new code is added by hand to BETA of this file').toEqual(statusesOf(BETA))
  })

  it('says something safe and complete for every code', () => {
    for (const [code, { message }] of Object.entries(ERRORS)) {
      expect(message, code).toMatch(/^[A-Za-z].*\.$/)
      expect(message, code).not.toMatch(/[<>{}$%[\]]|TODO|undefined|null\b(?!\.)/)
    }
  })

  it('keeps the text of a failed login and of an unexpected error plain', () => {
    expect(ERRORS.admin_auth_failed.message).toBe('Operator authentication failed.')
    expect(ERRORS.internal_server_error.message).toBe('Unexpected error.')
  })
})

describe('isErrorCode', () => {
  it('knows its codes and nothing inherited', () => {
    expect(isErrorCode('stale_sequence')).toBe(true)
    expect(isErrorCode('toString')).toBe(false)
    expect(isErrorCode('network_scope')).toBe(false)
  })
})
