import { isErrorCode } from '@chancery/contract'
import { ResponseError, RefusedError, UsageError, UnreachableError } from '@chancery/sdk'
import { describe, expect, it } from 'vitest'
import { codesWithHint } from './hints.ts'
import { explain } from './explain.ts'
import { CommandError, usageError } from './failure.ts'

function refused(code: string, more: Partial<RefusedError> = {}): RefusedError {
  return new RefusedError({
    status: 400,
    code,
    message: 'No.',
    details: {},
    requestId: 'r-1',
    retryAfterSeconds: undefined,
    clockOffsetSeconds: undefined,
    ...more,
  })
}

// Every refusal of the routes for enrollment, revocation, agents and recognition.
const ROUTE_CODES = `
invalid_role invalid_max_validity_hours invalid_token_expiry_hours invalid_recipient_public_key
missing_node_public_key invalid_public_key missing_invite_token invalid_invite_token
invalid_validity_hours node_auth_failed node_key_compromised invalid_input unexpected_field
missing_certificate_identity certificate_not_found certificate_key_mismatch certificate_revoked
certificate_superseded certificate_not_yet_valid certificate_expired renewal_role_change_forbidden
missing_cert_id invalid_revocation_reason crl_publish_contention conflict bad_request
invalid_agent_descriptor descriptor_signature_required invalid_signature descriptor_network_mismatch
descriptor_expired node_has_no_active_certificate node_key_revoked agent_not_registered
delete_signature_required invalid_signed_at signed_at_outside_window invalid_page admin_auth_failed
admin_auth_throttled insufficient_operator_tier rate_limit_exceeded service_unavailable
internal_server_error not_found
attestation_not_found missing_attestation_subject attestation_issuer_mismatch
invalid_attestation_or_policy invalid_attestation_or_treaty missing_recognition_policy
invalid_recognition_policy recognition_policy_not_configured treaty_not_found
invalid_recognition_treaty missing_treaty_subject empty_subject_public_keys invalid_public_keys
invalid_treaty_scope invalid_sovereign_revocation_feed missing_issuer_public_keys missing_signature
wrong_issuer stale_sequence feed_issuer_mismatch missing_trust_path_parameters
caller_keys_not_accepted request_entity_too_large
`

describe('explain', () => {
  it('gives advice only for codes that exist', () => {
    for (const code of codesWithHint()) expect(isErrorCode(code), code).toBe(true)
  })

  it.each(ROUTE_CODES.trim().split(/\s+/))('has a next step for %s of the routes', (code) => {
    expect(isErrorCode(code)).toBe(true)
    expect(explain(refused(code)).hint).toMatch(/^.{20,}/s)
  })

  it('advises to repeat an activation when a gate cannot run now, and to publish another version otherwise', () => {
    const hintOf = (reason: string): string | undefined =>
      explain(refused('boundary_policy_activation_refused', { details: { reason } })).hint
    expect(hintOf('gate_type_unavailable')).toContain('run the same command again')
    expect(hintOf('policy_expired')).toContain('(policy_expired). Publish a version without that problem')
  })

  it.each([
    [403, {}, 'This authority has no such certificate'],
    [403, {}, 'chancery authority recover --certificates'],
    [404, {}, 'Remove this id'],
    [404, {}, 'chancery node revoke --forgotten'],
    [404, {}, 'chancery authority recover --audit'],
    [404, { cert_ids: ['a', 'b'] }, 'Remove a, b;'],
    [404, { cert_ids: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] }, 'Remove a, b, c, d, e and 2 more'],
  ])('gives nodes (%s) and operators different hints about an unknown certificate: %j', (status, details, hint) => {
    expect(explain(refused('certificate_not_found', { status, details })).hint).toContain(hint)
  })

  it('keeps code, details and request id of a refusal', () => {
    const error = refused('unexpected_field', { details: { fields: ['alowed_ports'] } })
    expect(explain(error)).toEqual({
      code: 'unexpected_field',
      message: 'No.',
      hint: 'Remove alowed_ports from the policy file.',
      requestId: 'r-1',
      details: { fields: ['alowed_ports'] },
      exitCode: 4,
    })
  })

  it.each([
    [refused('rate_limit_exceeded', { retryAfterSeconds: 60 }), 'Wait 60 s and try again.'],
    [refused('invalid_policy', { details: { field: 'routing.max_hops' } }), 'routing.max_hops'],
    [refused('invalid_policy'), 'named in the details'],
    [refused('cosign_rejected', { details: { reason: 'offer_expired' } }), 'offer_expired: The offer ended'],
    [refused('justification_untrusted', { details: { reason: 'unknown_issuer' } }), '--key'],
    [refused('proof_assembly_failed', { details: { reason: 'contradictory_votes' } }), 'votes for and against'],
    [refused('proof_assembly_failed'), 'chancery verify'],
    [refused('admin_auth_failed', { status: 401, clockOffsetSeconds: 840 }), '14 minutes ahead of'],
    [refused('admin_auth_failed', { status: 401, clockOffsetSeconds: -301 }), '5 minutes behind'],
    [refused('service_unavailable', { details: { outcome: 'unknown' } }), 'The change may have been made'],
    [refused('service_unavailable'), 'Nothing was changed'],
    [new UnreachableError({ url: 'http://na', sent: 'never', systemCode: 'ECONNREFUSED' }), 'Check the address'],
    [new UnreachableError({ url: 'http://na', sent: 'never', systemCode: 'ENOTFOUND' }), 'host name'],
    [new UnreachableError({ url: 'http://na', sent: 'perhaps', systemCode: 'TIMEOUT' }), 'may have been executed'],
    [new UnreachableError({ url: 'http://na', sent: 'perhaps', systemCode: undefined }), 'may have been executed'],
    [new ResponseError({ status: 200, problem: 'x', requestId: undefined }), 'another server may answer'],
  ])('says what to do: %s', (error, hint) => {
    const explained = explain(error)
    expect(explained.hint).toContain(hint)
    const isNoAnswer = error instanceof UnreachableError || error instanceof ResponseError
    expect(explained.exitCode).toBe(isNoAnswer ? 5 : 4)
  })

  it('distinguishes a usage error from a failure', () => {
    expect(explain(usageError('wrong', 'right'))).toEqual({
      code: 'usage',
      message: 'wrong',
      problems: [],
      hint: 'right',
      exitCode: 2,
    })
    expect(explain(new CommandError({ code: 'x', message: 'failed' }))).toMatchObject({ code: 'x', exitCode: 2 })
    expect(explain(new UsageError('key_id is required'))).toMatchObject({ code: 'usage', exitCode: 2 })
  })

  it('shows where a defect is only when asked', () => {
    expect(explain(new Error('oops')).message).toBe('Unexpected error. Error: oops')
    expect(explain(new Error('oops'), true).message).toContain('explain.test.ts')
  })
})
