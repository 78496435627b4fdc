import { visible } from '@chancery/protocol'

const TREATY: Readonly<Record<string, string>> = {
  not_held: 'the authority has no such treaty: it was never issued here, or was changed.',
  issuer_not_recognized:
    'the authority has no key of its issuer. Give one with --issuer-key, or recognise the issuer first.',
  wrong_issuer: 'another network issued it.',
  wrong_subject: 'it recognises another network than the issuer of the attestation.',
  locally_revoked: 'it was revoked.',
  bad_status: 'its status is not active.',
  outside_validity_window: 'its time is over, or has not begun.',
  missing_signature: 'it carries no signature.',
  invalid_signature: 'no configured key of its issuer signed it. Do not use it.',
}

/** Recognition is not transitive: a treaty of another network never counts for a member. */
const NOT_OURS =
  'another network issued it, and recognition is not transitive. Issue your own treaty ' +
  '(chancery federation bootstrap), or verify with keys you trust (--issuer-key).'

const ATTESTATION: Readonly<Record<string, string>> = {
  unknown_issuer: 'its issuer is not recognised. Issue a treaty, or add it to the recognition policy.',
  locally_revoked: 'it was revoked.',
  bad_status: 'its status is not accepted.',
  outside_validity_window: 'its time is over, or has not begun. Ask its issuer for a new one.',
  role_not_allowed: 'it has a role that is not accepted here, or none. See the scope: chancery treaty inspect <id>',
  missing_signature: 'it carries no signature.',
  invalid_signature: 'no signature is that of a recognised key of its issuer. Do not use it.',
}

/** Returns the reason of a verdict on an attestation as text, with its code. */
export function reasonText(reason: string): string {
  if (reason === 'accepted') return 'it is valid.'
  const [, ofTreaty] = /^treaty_(.+)$/.exec(reason) ?? []
  if (ofTreaty === 'issuer_not_recognized') return withCode(reason, 'of the treaty: ', NOT_OURS)
  if (ofTreaty !== undefined) return withCode(reason, 'of the treaty: ', TREATY[ofTreaty])
  return withCode(reason, '', ATTESTATION[reason.replace(/^attestation_/, '')])
}

export function treatyReasonText(reason: string): string {
  return reason === 'accepted' ? 'signature, status and dates are correct.' : withCode(reason, '', TREATY[reason])
}

function withCode(code: string, start: string, words: string | undefined): string {
  return words === undefined ? visible(code) : `${start}${words} (${visible(code)})`
}
