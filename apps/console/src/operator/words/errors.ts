/**
 * What an operator does after a refusal. The sentence of the refusal itself is the message of the authority, from the
 * table of errors of the contract. A test checks that every code has both.
 */

const BY_CODE: Readonly<Record<string, string>> = {
  no_response: 'It is tried again. Check the address and the network connection.',
  unexpected_response: 'Check whether a proxy in between changed the response.',
  admin_auth_failed:
    'Check the key file and its key id. A revoked key is refused too. Check the clock of this machine.',
  insufficient_operator_tier: 'Ask an operator with a privileged key to do this.',
  unknown_operator_key: 'Choose a key that the list of operator keys names.',
  last_active_operator_key: 'Add another operator key first.',
  evidence_store_disabled: 'Set EVIDENCE_STORE=on and start the authority again to store evidence.',
  rate_limit_exceeded: 'Wait for the stated time. Nothing you entered is lost.',
  service_not_ready: 'The checks of /readyz name the cause.',
  conflict: 'Another change came first. Read the page again.',
  signed_at_outside_window: 'Set the clock of this machine.',
  partners_disabled: 'Set NA_PARTNERS=on and start the authority again to read partners.',
  partner_mismatch: 'Do not add it. Compare the key with the partner another way, and check the address.',
  partner_unreachable: 'Check the address. The authority itself must reach it.',
  partner_exists: 'Open the partner. To change its keys, pin other keys there.',
  partner_limit: 'Remove a partner that is no longer used first.',
  pull_in_progress: 'Wait until the running pull ends.',
  stale_sequence: 'This feed, or a newer one, is imported already.',
  treaty_ended: 'The treaty has ended. Recognise the partner with a new treaty.',
  asset_not_found: 'Load the page again. The authority was updated.',
}

const BY_STATUS: readonly (readonly [status: number, text: string])[] = [
  [400, 'Change the named field.'],
  [401, 'Unlock again with a key that this authority has.'],
  [403, 'Ask an operator with the needed permission.'],
  [404, 'Check the id. It may have been removed.'],
  [409, 'Read the page again, because the state has changed.'],
  [413, 'Send less at once.'],
  [422, 'Check the record. Its content does not validate.'],
  [429, 'Wait for the stated time.'],
  [500, 'Report the request id to the operator of this authority.'],
  [503, 'Try again later. The checks of /readyz name the cause.'],
]

export function nextStep(code: string, status: number): string {
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined
  return (
    known ??
    BY_STATUS.find(([each]) => each === status)?.[1] ??
    'Report the request id to the operator of this authority.'
  )
}
