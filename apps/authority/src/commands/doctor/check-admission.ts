import { type GenesisBlock, type Instant, describeAdmission, instantOf } from '@chancery/protocol'
import { type Finding, bad, good, silentLog, warn } from '@chancery/service-kit'
import { checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import type { Database } from '../../database/database.ts'
import { isInForce, listRules, readSigned } from '../../features/admission/index.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { OwnKeys } from '../../signing/own-keys.ts'

const MAX_RULES = 1000

/** Shows what each admission rule admits, and what makes one wider than it looks. */
export async function checkAdmission(
  database: Database,
  settings: Pick<AuthoritySettings, 'operators'>,
  keys: OwnKeys,
  genesis: GenesisBlock,
  now: Instant,
): Promise<readonly Finding[]> {
  const rows = (await listRules(database.read, { limit: MAX_RULES })).filter(({ status }) => status === 'active')
  const isRevoked = checkRevoked(await listRevokedKeys(database.read))
  // Also a key that was taken out of the settings after its revocation.
  const revoked = (key_id: string): boolean =>
    isRevoked({ key_id, publicKey: settings.operators.get(key_id)?.publicKey ?? '' })
  const network = { name: genesis.network_name, genesis, genesisText: '' }
  const findings: Finding[] = []
  for (const row of rows) {
    const about = { about: row.rule_id }
    const rule = await readSigned({ keys, network, log: silentLog }, row)
    const remove = `chancery admission remove ${row.rule_id}`
    if (rule === undefined) {
      const fix = `Find out who wrote to the database; then run: ${remove}`
      findings.push(bad('admission-rule', `${row.rule_id} is not as it was signed; it admits no node`, fix, about))
      continue
    }
    const { admits, warnings } = describeAdmission(rule)
    const isOver = rule.expires_at !== null && instantOf(rule.expires_at) <= now
    const state = isInForce(rule, now) ? 'admits' : isOver ? 'is over; it admitted' : 'will admit'
    const found = `${row.rule_id} ${state} ${admits}`
    if (revoked(row.created_by)) {
      const fix = `Was it wanted? If not: ${remove}`
      findings.push(warn('admission-rule', `${found}; the key ${row.created_by} that added it is revoked`, fix, about))
    } else if (warnings.length > 0) {
      const fix = `If that is too wide, add a narrower rule, then run: ${remove}`
      findings.push(warn('admission-rule', `${found}; ${warnings.join('; ')}`, fix, about))
    } else findings.push({ ...good('admission-rule', found), ...about })
  }
  return findings
}
