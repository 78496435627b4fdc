import { member } from '@chancery/protocol'
import type { RefusedError } from '@chancery/sdk'
import { type Hint, PROOF_HINTS, TRUST_HINTS, named, withReason } from './trust-hints.ts'

/** By the reason of a refusal. Others need no more than the reason. */
const REASONS: Readonly<Record<string, string>> = {
  rule_unavailable: 'The rule is unknown, removed, or outside its time. chancery invite list --rules shows the rules.',
  audience_mismatch:
    'The token is for another audience. With a bound rule it must name this node key: let join ask for it (--platform), or add a rule with --plain-audience.',
  claims_mismatch: 'The token is of another identity than the rule names. Compare with: chancery invite list --rules',
  key_unknown: 'The issuer does not publish the key of this token. Wait a minute after a change of its keys.',
  keys_unavailable:
    'The authority cannot read the keys of the issuer. Its log has the cause; see NA_ADMISSION_ADDRESSES and NA_ADMISSION_CA_FILE.',
  expired: 'Get a new token from the platform and try again.',
  evidence_used: 'Another node key used this token, or it was used often. Get a new token from the platform.',
  not_fresh:
    'The token was made before the certificate. Get a new token from the platform; where it gives one for each job, join again.',
  joins_exhausted: 'The rule allows no more joins. An operator can add another rule.',
  algorithm_not_allowed: 'The rule does not allow the algorithm of this token. Add a rule with --algorithm.',
}

/** Refusals of joins by the word of a platform. */
const ADMISSION_HINTS: Readonly<Record<string, Hint>> = {
  invalid_join_evidence: () =>
    'The evidence is not a token. Check the file, and the versions of program and authority.',
  evidence_refused: ({ details }) =>
    withReason(details, REASONS, 'Test the token with: chancery invite rule test <rule> --token-file <file>'),
  evidence_required: () =>
    'The configuration of this node names no evidence. Join again: chancery join --platform <source> --rule <rule>',
  invalid_admission_rule: ({ details }) => `${named(details, 'field')}: ${named(details, 'problem')}.`,
  admission_rule_not_found: () => 'List the rules with: chancery invite list --rules --state all',
}

/** Returns the hint for a refusal, or undefined for an unknown code. */
export function hintFor(error: RefusedError): string | undefined {
  return Object.hasOwn(HINTS, error.code) ? HINTS[error.code]?.(error) : undefined
}

/** Returns the codes with a hint. A test compares them with the contract. */
export function codesWithHint(): readonly string[] {
  return Object.keys(HINTS)
}

const NEW_INVITE = 'Ask an operator for a new invite (chancery invite create), then run chancery join again'
const NEWER = 'The versions of authority and program do not match. Compare them; if they are equal, report a defect.'

const GENERAL: Readonly<Record<string, Hint>> = {
  rate_limit_exceeded: wait,
  service_unavailable: ({ outcomeUncertain }) =>
    outcomeUncertain
      ? 'The change may have been made. Check the state before you try again.'
      : 'Nothing was changed. Check GET /readyz and the log of the authority, then try again.',
  service_not_ready: () => 'Nothing was changed. The details name the failed check.',
  internal_server_error: () => 'Search the log of the authority for the request id.',
  not_found: () => 'Check --url, and the version of the authority.',
  bad_request: () => NEWER,
  invalid_page: () => '--limit must be a whole number from 1 to 1000.',
}

const OPERATORS: Readonly<Record<string, Hint>> = {
  admin_auth_failed: () =>
    'The authority does not accept this signature. Check that --operator-key and together, ' +
    'that the key is configured there and not revoked, and that paths.genesis is the block of that network (after a key succession: chancery genesis fetch).',
  admin_auth_throttled: wait,
  insufficient_operator_tier: () =>
    'Use an operator key with the tier privileged. On the host of the authority, see: chancery operator list',
  unknown_operator_key: () => 'Check the key id. On the host of the authority, see: chancery operator list',
  last_active_operator_key: () =>
    'Configure another operator key at the authority first, restart it, then revoke this one.',
}

const POLICY: Readonly<Record<string, Hint>> = {
  policy_not_found: () => 'List the stored versions with: chancery policy list',
  invalid_policy: ({ details }) => `Fix the field ${named(details, 'field')} of the policy file.`,
  unexpected_field: ({ details }) =>
    named(details, 'fields') === 'dry_run'
      ? 'Nothing was changed. This authority is older than the program and has no preview. Update it.'
      : `Remove ${named(details, 'fields')} from the policy file.`,
  conflict: () =>
    'A policy with this policy_id and other content is stored. Choose another policy_id, or ' +
    'omit it, and the authority creates one.',
}

const ENROLLMENT: Readonly<Record<string, Hint>> = {
  invalid_role: () =>
    'A role reads role:<name>, at most 16 without repetition; the authority may allow only some (NA_ALLOWED_ROLES).',
  invalid_max_validity_hours: () => '--valid-for must be from 1h to 8760h.',
  invalid_token_expiry_hours: () => '--expires-in must be from 1h to 720h.',
  invalid_recipient_public_key: () => 'Give --node the .pub file of the node key.',
  missing_invite_token: () => 'Give the token with --token-file <file>, or on standard input.',
  invalid_invite_token: () => `The token is mistyped, used, expired or for another node key. ${NEW_INVITE}.`,
  missing_node_public_key: () => NEWER,
  invalid_public_key: () =>
    'This key is weak, or is a key of the root, the authority or an operator. Create another one: ' +
    'chancery keygen node',
  invalid_validity_hours: () => '--valid-for must be at least 1h.',
  invalid_input: ({ details }) => `The value of the field ${named(details, 'field')} is not allowed. See --help.`,
  node_auth_failed: () =>
    'The authority refuses this proof. Check the clock of this machine (chancery status), and that key and ' +
    'genesis block in the folder belong to the network at this address.',
  node_key_compromised: () =>
    'This key is compromised and blocked permanently. Rename the folder, then join with a new key and a new invite.',
  missing_certificate_identity: () => NEWER,
  certificate_not_found: ({ status, details }) =>
    status === 404
      ? `Nothing was changed. Remove ${named(details, 'cert_ids', 'this id')}; chancery node list lists active certificates. ` +
        'If the database was restored from a backup: revoke by the certificate file (chancery node revoke --forgotten), or ' +
        'find all unknown certificates with chancery authority recover --audit.'
      : 'This authority has no such certificate. --url or --home may belong to another network, or the authority was restored ' +
        'from a backup. Then its operator can adopt the certificate (chancery authority recover --certificates). Otherwise: ' +
        `${NEW_INVITE}.`,
  certificate_key_mismatch: () => `Key and certificate in the folder do not match. ${NEW_INVITE}, in a new folder.`,
  certificate_revoked: () => `An operator revoked the certificate. Ask for the reason. ${NEW_INVITE}.`,
  certificate_superseded: () =>
    `A renewal replaced it, and the new certificate is not in this folder. Find it, or: ${NEW_INVITE}.`,
  certificate_not_yet_valid: () => 'The clock of the authority was set back. Inform its operator and try again later.',
  certificate_expired: () =>
    `It can no longer be renewed. ${NEW_INVITE}. chancery node run renews certificates in time.`,
  renewal_role_change_forbidden: () => `Roles come from the invite. For other roles: ${NEW_INVITE}.`,
  missing_cert_id: () => 'Name 1 to 1000 different certificate ids.',
  invalid_revocation_reason: () => 'Choose one of the reasons that chancery node revoke --help lists.',
  crl_publish_contention: () =>
    'Other operators revoke at the same time. Nothing was changed. Run the same command again.',
}

const AGENTS: Readonly<Record<string, Hint>> = {
  invalid_agent_descriptor: ({ details }) =>
    `Fix the field ${named(details, 'field')} of the descriptor. See chancery agent register --help.`,
  descriptor_signature_required: () => NEWER,
  invalid_signature: ({ status }) =>
    status === 400
      ? 'Nothing was imported. The feed is signed with another key than the treaty names. If the partner network has a new key ' +
        '(chancery partner inspect), replace the treaty. Otherwise the feed was changed.'
      : 'The signature does not match the claimed key. Check the key file in the folder.',
  descriptor_network_mismatch: ({ details }) =>
    `This is the authority of ${named(details, 'expected')}. Check --url, or use the home of a node of that network.`,
  descriptor_expired: () =>
    'Either the clock of this machine is wrong (chancery status), or a newer registration or removal of this key ' +
    'is stored. Check whether another process registers with the same folder.',
  node_has_no_active_certificate: () => 'Check it with chancery status, then renew it or join again.',
  node_key_revoked: () => 'A certificate of this key is revoked. Rename the folder and join with a new key.',
  delete_signature_required: () => NEWER,
  invalid_signed_at: () => NEWER,
  signed_at_outside_window: () =>
    'Either the clock of this machine is wrong (chancery status), or the agent was registered again in the meantime.',
  agent_not_registered: () => 'The agent was never registered, was removed, or its registration expired.',
}

const PARTNERS: Readonly<Record<string, Hint>> = {
  partners_disabled: () => 'The authority reads no partners (NA_PARTNERS=off). Change the setting and restart it.',
  invalid_partner: ({ details }) => `Fix ${named(details, 'field')}. See: chancery partner add --help`,
  partner_exists: () => 'Change it with chancery partner set, or its keys with chancery partner set.',
  partner_limit: () => 'Remove a partner first, or raise NA_PARTNERS_MAX.',
  partner_not_found: () => 'Find the name with: chancery partner list',
  partner_unreachable: ({ details }) =>
    `The authority could not read it (${named(details, 'reason')}). Check the address from the machine of the authority, and NA_PARTNER_ADDRESSES.`,
  partner_mismatch: ({ details }) =>
    `Another network answers than the pinned one (${named(details, 'reason')}). Compare the key with the other side, by another way than its address.`,
  pull_in_progress: () => 'A pull of this partner runs. See its result with: chancery partner show <name>',
  alarm_not_found: () => 'Find the id of the alarm with: chancery partner show <name>',
}

const RECOGNITION: Readonly<Record<string, Hint>> = {
  attestation_not_found: () => 'Find the id with: chancery attestation list',
  missing_attestation_subject: () => 'Give the subject (1 to 256 characters) and at least one --role.',
  attestation_issuer_mismatch: () => NEWER,
  invalid_attestation_or_policy: () => 'Give the files unchanged: a changed record does not verify.',
  invalid_attestation_or_treaty: () => 'Give the files unchanged: a changed record does not verify.',
  missing_recognition_policy: () => 'Its network needs a treaty or a place in the recognition policy.',
  invalid_recognition_policy: () =>
    'Fix the policy: each issuer once, with 1 to 16 public keys and the accepted roles.',
  recognition_policy_not_configured: () =>
    'An operator sets one with POST /admin/recognition-policy; treaties work without it.',
  treaty_ended: () => 'List the treaties with: chancery treaty list',
  treaty_not_found: () => 'Find the id with: chancery treaty list',
  invalid_recognition_treaty: () => 'A network cannot recognise itself. Give a treaty file unchanged.',
  missing_treaty_subject: () => 'Give the partner network, and its key with --key <file>.',
  empty_subject_public_keys: () => 'Give the key of the other authority with --key <file>.',
  invalid_public_keys: () => 'Give 1 to 16 different keys, each a .pub file or base64; weak keys are refused.',
  invalid_treaty_scope: () => 'A scope takes at most 64 roles, and of the statuses active, suspended and revoked.',
  invalid_sovereign_revocation_feed: ({ details }) =>
    member(details, 'reason') === 'sequence_jump'
      ? 'Its sequence is over a million higher than the last one. Ask the partner network whether that is correct, then add ' +
        '--accept-sequence-jump.'
      : 'Give the file of feed export unchanged: a changed feed does not verify.',
  missing_issuer_public_keys: ({ details }) =>
    `No active treaty names a key of ${named(details, 'issuer_sovereign_id', 'this network')}. Issue a treaty first ` +
    '(chancery partner add), or supply its key with --key.',
  missing_signature: () =>
    'Nothing was imported. Ask the partner network for a signed feed: chancery partner export-feed',
  wrong_issuer: ({ details }) =>
    `It is the feed of ${named(details, 'issuer_sovereign_id', 'another network')}. Check --issuer. The own feed cannot be imported.`,
  stale_sequence: () =>
    'Nothing was imported. A newer feed of this network is stored, or another one with this sequence. Import the current feed.',
  feed_issuer_mismatch: () => 'Request the feed from the authority of that network.',
  missing_trust_path_parameters: () => 'Give both networks: chancery partner show <to> --path-from <from>',
  caller_keys_not_accepted: () => 'It is a record of this authority. Omit --key.',
  request_entity_too_large: () => 'The file is larger than the authority accepts (NA_MAX_REQUEST_BYTES).',
}

const HINTS: Readonly<Record<string, Hint>> = {
  ...GENERAL,
  ...OPERATORS,
  ...POLICY,
  ...ENROLLMENT,
  ...AGENTS,
  ...PARTNERS,
  ...RECOGNITION,
  ...TRUST_HINTS,
  ...ADMISSION_HINTS,
  ...PROOF_HINTS,
}

function wait({ retryAfterSeconds }: RefusedError): string {
  return retryAfterSeconds === undefined ? 'Wait a minute and try again.' : `Wait ${retryAfterSeconds} s and try again.`
}
