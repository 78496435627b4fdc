import { HOUR, type Instant, writeSortable } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import { readEvents } from '../../audit/list-events.ts'
import { type OperatorKey, type OperatorKeyring, checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import type { Reader } from '../../database/database.ts'
import type { CheckedNetwork } from './parts.ts'

/** Refused calls of an hour that a mistyped key explains. */
const FEW_REFUSALS = 10
/** Events read for the count. */
const MAX_REFUSALS = 1000
const REFUSALS = ['admin_auth_failed', 'admin_authz_denied']

/** Checks that the loss of one key can be handled, and that no caller tries keys. */
export async function checkOperatorKeys({ database, operators, now }: CheckedNetwork): Promise<readonly Finding[]> {
  const usable = await findUsableKeys(database.read, operators)
  return [checkUsable(usable), await checkRefusals(database.read, now)]
}

/** The configured keys that are not revoked, one for each public key. */
export async function findUsableKeys(db: Reader, operators: OperatorKeyring): Promise<readonly OperatorKey[]> {
  const isRevoked = checkRevoked(await listRevokedKeys(db))
  const usable = [...operators.values()].filter((key) => !isRevoked(key))
  return [...new Map(usable.map((key) => [key.publicKey, key])).values()]
}

function checkUsable(usable: readonly OperatorKey[]): Finding {
  const [only] = usable
  if (!usable.some(({ tier }) => tier === 'privileged'))
    return bad(
      'operator-keys',
      only === undefined ? 'Every operator key is revoked' : 'No usable operator key is privileged',
      'Give a new key the tier privileged in OPERATOR_PUBLIC_KEYS_JSON and OPERATOR_KEY_TIERS_JSON, then restart.',
      { effect: 'No operator can revoke a certificate, an attestation or a treaty.' },
    )
  if (only === undefined || usable.length > 1) return good('operator-keys', `${usable.length} usable`)
  return warn(
    'operator-keys',
    `Only one operator key is usable: ${only.key_id}`,
    'Add a second operator: chancery operator add KEY_ID --key FILE --tier privileged.',
    { effect: 'If it is lost, no operator can revoke it.', about: only.key_id },
  )
}

async function checkRefusals(db: Reader, now: Instant): Promise<Finding> {
  const since = writeSortable(now - HOUR)
  const filter = { types: REFUSALS, subject: undefined, since, until: undefined, isNewestFirst: true }
  const { length } = await readEvents(db, filter, undefined, MAX_REFUSALS)
  if (length <= FEW_REFUSALS) return good('operator-refusals', `${length} in the last hour`)
  const count = length === MAX_REFUSALS ? `At least ${MAX_REFUSALS}` : `${length}`
  return warn(
    'operator-refusals',
    `${count} calls of operators were refused in the last hour`,
    'Find the addresses in the audit events admin_auth_failed and admin_authz_denied: chancery audit export.',
    { effect: 'A caller may try keys, or a program uses an old one.' },
  )
}
