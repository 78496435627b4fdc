import { visible } from '@chancery/protocol'

const TREATY: Readonly<Record<string, string>> = {
  not_held: 'the authority has no such treaty: it was never issued here, or was changed.',
  issuer_not_recognized: 'the authority has no key of its issuer. Recognise the issuer first.',
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
  '(chancery partner add --role), or verify its file with keys you trust.'

export function treatyReasonText(reason: string): string {
  return reason === 'accepted' ? 'signature, status and dates are correct.' : withCode(reason, '', TREATY[reason])
}

function withCode(code: string, start: string, words: string | undefined): string {
  return words === undefined ? visible(code) : `${start}${words} (${visible(code)})`
}
