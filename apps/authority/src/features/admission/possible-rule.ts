import type { JoinCertificate } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import { listStoredTexts } from './queries.ts'
import { readStoredRule } from './rules.ts'

export type PossibleRule = (certificate: Pick<JoinCertificate, 'roles'>, hours: number) => string | undefined

/**
 * Finds a stored rule that can have admitted a certificate, also a removed one: the same roles, and not more hours. For
 * certificates whose event is lost: in doubt they need evidence.
 */
export async function readPossibleRules(db: Reader): Promise<PossibleRule> {
  // Certificates of a node that joined again are renewed without evidence.
  const rules = (await listStoredTexts(db))
    .map(readStoredRule)
    .filter((rule) => rule !== undefined)
    .filter(({ kind }) => kind !== 'expired_certificate')
  const namesOf = (roles: readonly string[]): string => [...new Set(roles)].sort().join(' ')
  return ({ roles }, hours) =>
    rules.find((rule) => hours <= rule.max_validity_hours && namesOf(rule.roles) === namesOf(roles))?.rule_id
}
