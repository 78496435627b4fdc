import { describe, expect, it } from 'vitest'
import { AUDIT_EVENTS, auditEventOf, type AuditEventType } from './audit-events.ts'

// protocol/core 26
const CORE = `
  admin_auth_failed admin_authz_denied admin_auth_throttled node_auth_failed refusals_not_recorded authority_key_succeeded authority_key_announced authority_key_retired operator_key_revoked operator_keys_changed invite_created invites_created invites_withdrawn node_label_set
  admission_rule_added admission_rule_removed certificate_adopted certificate_presented certificate_issued join_rejected heartbeat_rejected renewal_rejected certificate_renewed wit_issued wit_rejected certificate_revoked certificates_removed audit_events_removed
  crl_published policy_published policy_rolled_back agent_registered agent_deregistered membership_attestation_issued
  membership_attestation_revoked recognition_policy_saved recognition_treaty_issued recognition_treaty_revoked
  revocation_feed_published sovereign_revocation_feed_imported sovereign_revocation_feed_rejected state_recovered evidence_reimported
  partner_added partner_changed partner_repinned partner_removed partner_key_changed partner_alarm_raised partner_alarm_cleared`

// protocol/trust-operations 11
const TRUST_OPERATIONS = `
  capability_offer_built capability_counter_built agreement_accepted agreement_cosigned agreement_untrusted boundary_decision_made
  boundary_legacy_decide_refused boundary_policy_decision_made boundary_attestation_decision_made
  boundary_request_refused boundary_policy_validated boundary_policy_published boundary_policy_activated boundary_policy_deactivated
  decision_stored evidence_recorded evidence_duplicate evidence_rejected executor_key_registered executor_key_retired
  evidence_retention_applied evidence_anchored evidence_bundle_signed evidence_anchor_refused evidence_anchor_failed evidence_log_witness_alarm
  evidence_log_witness_alarm_ended trust_evidence_built
  capability_commitment_created capability_nullifier_issued validator_vote_cast consensus_proof_assembled
  data_license_policy_created data_access_intent_created data_usage_violation_recorded`

const types = Object.keys(AUDIT_EVENTS) as AuditEventType[]

describe('audit events', () => {
  it('are exactly those of the protocol', () => {
    const rule = 'a new event is added by hand to CORE or TRUST_OPERATIONS of this file, and to the protocol page'
    expect(types.toSorted(), rule).toEqual(`${CORE} ${TRUST_OPERATIONS}`.trim().split(/\s+/).toSorted())
  })

  it('say when they are written, in one line', () => {
    for (const type of types) expect(auditEventOf(type).when, type).toMatch(/^[A-Z].*\.$/)
  })

  it('name their details once, in wire form', () => {
    for (const type of types) {
      const { details } = auditEventOf(type)
      expect(details.length, type).toBeGreaterThan(0)
      expect(new Set(details).size, type).toBe(details.length)
      for (const name of details) expect(name, type).toMatch(/^[a-z]+(_[a-z]+)*$/)
    }
  })

  it('have no place for secrets or fact values', () => {
    const forbidden = /body|signature|private|claims|parameters|attributes|token(?!_fingerprint)/
    for (const type of types) for (const name of auditEventOf(type).details) expect(name, type).not.toMatch(forbidden)
  })

  it('contain a nonce only in events about a replay', () => {
    expect(types.filter((type) => auditEventOf(type).details.includes('nonce'))).toEqual([
      'admin_auth_failed',
      'node_auth_failed',
    ])
  })
})
