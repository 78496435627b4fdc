import { member } from '@chancery/protocol'
import type { RefusedError } from '@chancery/sdk'
import { named } from './named-details.ts'
import type { Advice } from './named-details.ts'
import { PROOF_ADVICE } from './proof-advice.ts'
import { TRUST_ADVICE } from './trust-advice.ts'

/** What to do about a refusal, in one or two sentences; undefined for a code this program does not know. */
export function adviceFor(error: RefusedError): string | undefined {
  return Object.hasOwn(ADVICE, error.code) ? ADVICE[error.code]?.(error) : undefined
}

/** The codes with advice of their own; a test holds them against the contract. */
export function advisedCodes(): readonly string[] {
  return Object.keys(ADVICE)
}

const NEW_INVITE = 'Ask an operator for a new invite (chancery invite), then run chancery join again'
const NEWER = 'Authority and program do not fit together: compare their versions, and report it when they are the same.'

const GENERAL: Readonly<Record<string, Advice>> = {
  rate_limit_exceeded: wait,
  service_unavailable: ({ outcomeUncertain }) =>
    outcomeUncertain
      ? 'It is not known whether the change was made. Look at the state before you try again.'
      : 'Nothing was changed. Look at GET /readyz and the log of the authority, then try again.',
  service_not_ready: () => 'Nothing was changed. The details say which check fails.',
  internal_server_error: () => 'The log of the authority says more; look for the request id.',
  not_found: () =>
    'Is this the address of a network authority, and of this version? Check --url or network.na_endpoint.',
  bad_request: () => NEWER,
  invalid_page: () => '--limit must be a whole number from 1 to 1000.',
}

const OPERATORS: Readonly<Record<string, Advice>> = {
  admin_auth_failed: () =>
    'The authority does not accept this signature. Check that --operator-key and --operator-key-id belong together, ' +
    'that the key is configured there and not revoked, and that paths.genesis is the block of that network (after a key succession: chancery genesis follow).',
  admin_auth_throttled: wait,
  insufficient_operator_tier: () =>
    'Use an operator key with the tier privileged (OPERATOR_KEY_TIERS_JSON of the authority).',
  unknown_operator_key: () =>
    'Operator keys are configured at the start of the authority: see OPERATOR_PUBLIC_KEYS_JSON there.',
  last_active_operator_key: () =>
    'Configure another operator key at the authority first, restart it, then revoke this one.',
}

const POLICY: Readonly<Record<string, Advice>> = {
  policy_not_found: () => 'List the stored versions with: chancery network-policy show --history',
  invalid_policy: ({ details }) => `Mend the member ${named(details, 'field')} of the policy file.`,
  unexpected_field: ({ details }) =>
    named(details, 'fields') === 'dry_run'
      ? 'Nothing was changed. This authority cannot say what would follow: it is older than this program. Update it.'
      : `Remove ${named(details, 'fields')} from the policy file.`,
  conflict: () =>
    'Versions never change: a policy with this policy_id and other content is stored. Choose another policy_id, or ' +
    'leave it out and the authority makes one.',
}

const ENROLLMENT: Readonly<Record<string, Advice>> = {
  invalid_role: () =>
    'A role reads role:<name>, at most 16 without repetition; the authority may allow only some (NA_ALLOWED_ROLES).',
  invalid_max_validity_hours: () => '--max-validity-hours must be a whole number from 1 to 8760.',
  invalid_token_expiry_hours: () => '--token-expiry-hours must be a whole number from 1 to 720.',
  invalid_recipient_public_key: () => 'Give --recipient the .pub file of the node key.',
  missing_invite_token: () => 'Give the token with --token-file <file>, or on standard input.',
  invalid_invite_token: () =>
    'It is mistyped, used, expired or meant for another node key; the authority does not say which. ' +
    `${NEW_INVITE}.`,
  missing_node_public_key: () => NEWER,
  invalid_public_key: () =>
    'This key cannot be used: weak keys and keys of the root, the authority and operators are refused. Make one with: ' +
    'chancery keygen node',
  invalid_validity_hours: () => '--validity-hours must be a whole number, at least 1.',
  invalid_input: ({ details }) => `The value of the member ${named(details, 'field')} is not allowed: see --help.`,
  node_auth_failed: () =>
    'The authority does not accept this proof. Check the clock of this machine (chancery status), and that key and ' +
    'genesis block in the home are of the network at this address.',
  node_key_compromised: () =>
    'This key was given up as stolen and stays barred. Move the home aside, then join with a new key and a new invite.',
  missing_certificate_identity: () => NEWER,
  certificate_not_found: ({ status, details }) =>
    status === 404
      ? `Nothing was changed. Take ${named(details, 'cert_ids', 'this id')} out; chancery nodes --roster lists active ones.`
      : `This authority never issued it; perhaps --url or --home is of another network. ${NEW_INVITE}.`,
  certificate_key_mismatch: () =>
    `Key and certificate in the home do not belong together. ${NEW_INVITE}, in a new home.`,
  certificate_revoked: () => `An operator took it out of use; find out why. ${NEW_INVITE}.`,
  certificate_superseded: () =>
    `It was replaced by a renewal whose certificate is not in this home. Look for it; else: ${NEW_INVITE}.`,
  certificate_not_yet_valid: () => 'The clock of the authority was set back. Tell its operator, and try again later.',
  certificate_expired: () => `It cannot be renewed any more. ${NEW_INVITE}; chancery node run renews in time.`,
  renewal_role_change_forbidden: () => `Roles come from the invite. For other roles: ${NEW_INVITE}.`,
  missing_cert_id: () => 'Name 1 to 1000 different certificate ids.',
  invalid_revocation_reason: () => 'Choose one of the reasons that chancery revoke --help lists.',
  crl_publish_contention: () => 'Others revoke at the same time. Nothing was changed; run the same command again.',
}

const AGENTS: Readonly<Record<string, Advice>> = {
  invalid_agent_descriptor: ({ details }) =>
    `Mend the member ${named(details, 'field')} of the descriptor: see chancery agent announce --help.`,
  descriptor_signature_required: () => NEWER,
  invalid_signature: ({ status }) =>
    status === 400
      ? 'Nothing was imported. The feed is signed by another key than the treaty pins. Has the other side a new key ' +
        '(chancery sovereign inspect)? Then replace the treaty; else somebody changed the feed.'
      : 'The key that signed is not the one it claims to be. Check the key file in the home.',
  descriptor_network_mismatch: ({ details }) =>
    `This is the authority of ${named(details, 'expected')}. Check --url, or use the home of a node of that network.`,
  descriptor_expired: () =>
    'Either the clock of this machine is wrong (chancery status), or a newer announcement or withdrawal of this key ' +
    'is stored: does another process announce with the same home?',
  node_has_no_active_certificate: () => 'Look at it with chancery status; then renew it, or join again.',
  node_key_revoked: () =>
    'A certificate of this key stands in the revocation list. Move the home aside and join with a new key.',
  delete_signature_required: () => NEWER,
  invalid_signed_at: () => NEWER,
  signed_at_outside_window: () =>
    'Either the clock of this machine is wrong (chancery status), or the agent was announced anew meanwhile.',
  agent_not_registered: () => 'It was never announced, was withdrawn, or its announcement ran out.',
}

const RECOGNITION: Readonly<Record<string, Advice>> = {
  attestation_not_found: () => 'Look for the id with: chancery attestation list',
  missing_attestation_subject: () => 'Name the subject (1 to 256 characters) and give at least one --role.',
  attestation_issuer_mismatch: () => NEWER,
  invalid_attestation_or_policy: () => 'Give the files as their issuers wrote them; a changed record never verifies.',
  invalid_attestation_or_treaty: () => 'Give the files as their issuers wrote them; a changed record never verifies.',
  missing_recognition_policy: () =>
    'Judge it by a treaty (--treaty <id>), or by a policy of your own (--policy <file>).',
  invalid_recognition_policy: () =>
    'Mend the policy: each issuer once, with 1 to 16 public keys and the roles that are accepted.',
  recognition_policy_not_configured: () =>
    'An operator sets one with POST /admin/recognition-policy; treaties work without it.',
  treaty_not_found: () => 'Look for the id with: chancery treaty list',
  invalid_recognition_treaty: () =>
    'A sovereign cannot recognise itself; a treaty from a file must be as its issuer wrote it.',
  missing_treaty_subject: () => 'Name the other sovereign and give its key with --key <file>.',
  empty_subject_public_keys: () => 'Give the key of the other authority with --key <file>.',
  invalid_public_keys: () => 'Give 1 to 16 different keys, each a .pub file or base64; weak keys are refused.',
  invalid_treaty_scope: () => 'A scope takes at most 64 roles, and of the statuses active, suspended and revoked.',
  invalid_sovereign_revocation_feed: ({ details }) =>
    member(details, 'reason') === 'sequence_jump'
      ? 'Its number is more than a million ahead of the last one. Ask the other side whether that is right; then add ' +
        '--accept-sequence-jump.'
      : 'Give the file as feed export wrote it; a changed feed never verifies.',
  missing_issuer_public_keys: ({ details }) =>
    `No active treaty names a key of ${named(details, 'issuer_sovereign_id', 'this sovereign')}. Recognise it first ` +
    '(chancery federation bootstrap), or vouch for its key with --issuer-key.',
  missing_signature: () => 'Nothing was imported. Ask the other side for a signed feed: chancery feed export',
  wrong_issuer: ({ details }) =>
    `It is of ${named(details, 'issuer_sovereign_id', 'another sovereign')}: check --issuer. The own feed is never imported.`,
  stale_sequence: () =>
    'Nothing was imported: a newer feed of this sovereign is held, or another one of this number. Import its current feed.',
  feed_issuer_mismatch: () => 'Ask the authority of that sovereign for its feed.',
  missing_trust_path_parameters: () => 'Name both sovereigns: chancery trust path <from> <to>',
  caller_keys_not_accepted: () => 'It is a treaty of this authority: leave --issuer-key out.',
  request_entity_too_large: () => 'The file is larger than the authority takes (NA_MAX_REQUEST_BYTES there).',
}

const ADVICE: Readonly<Record<string, Advice>> = {
  ...GENERAL,
  ...OPERATORS,
  ...POLICY,
  ...ENROLLMENT,
  ...AGENTS,
  ...RECOGNITION,
  ...TRUST_ADVICE,
  ...PROOF_ADVICE,
}

function wait({ retryAfterSeconds }: RefusedError): string {
  return retryAfterSeconds === undefined ? 'Wait a minute and try again.' : `Wait ${retryAfterSeconds} s and try again.`
}
