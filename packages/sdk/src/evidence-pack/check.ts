import { genesisDigest, instantOf, meaningOf, verifyGenesisBlock, verifyKeyHistory } from '@chancery/protocol'
import type { AuthorityKeys, GenesisBlock } from '@chancery/protocol'
import { checkBasis, checkBasisSignature, checkPolicies, checkTexts, checkTreaty, needsTreaty } from './check-basis.ts'
import { checkDecision, checkExecutions, checkJustification, findEntryProblems, readEntries } from './check-entries.ts'
import type { PackDecision } from './check-entries.ts'
import { checkAnchor, checkInclusion, checkWitnesses } from './check-log.ts'
import { PASSED, failed, missing } from './finding.ts'
import type { Finding } from './finding.ts'
import { countContents, digestPack } from './format.ts'
import type { EvidencePack } from './format.ts'
import type { EvidencePackReport, PackCheck, PackCheckName, PackTrust } from './report.ts'
import { findUnproven } from './unproven.ts'

/**
 * Verifies an evidence pack without a call: signatures under the keys of their time, digests and links of the entries,
 * the policies and the basis that the decision names, the place in the public log, and the anchor. One failed check
 * does not stop the others, so that a changed part is named. Every member of the pack is covered by a check.
 */
export async function checkEvidencePack(pack: EvidencePack, trust: PackTrust = {}): Promise<EvidencePackReport> {
  const { genesis, key_history: history } = pack
  const keys: AuthorityKeys = history === null ? { genesis } : { genesis, history }
  const read = readEntries(pack)
  const { decision } = read
  const problems = await findEntryProblems(pack, keys, read)
  const hasExecutions = read.events.some((event) => event?.entry.entry_kind === 'execution')
  const checks: PackCheck[] = [
    toCheck('contents', checkContents(pack)),
    toCheck('genesis', await verifyGenesisBlock(genesis)),
    toCheck('root_key', checkRoot(genesis, trust, decision)),
    ...(history === null ? [] : [toCheck('key_history', await verifyKeyHistory(history, genesis))]),
    toCheck('decision', checkDecision(problems, genesis, decision)),
    toCheck('justification', await checkJustification(problems, keys, read)),
    ...(hasExecutions || pack.executor_keys.length > 0
      ? [toCheck('executions', checkExecutions(problems, pack, read, trust.executorKeys))]
      : []),
    toCheck('policies', await checkPolicies(pack, keys, decision)),
    toCheck('policy_texts', checkTexts(pack)),
    ...(needsTreaty(pack, decision) ? [toCheck('treaty', await checkTreaty(pack, keys, decision))] : []),
    toCheck('basis', checkBasis(pack, decision)),
    ...(pack.attestation === null && pack.agreement === null
      ? []
      : [toCheck('basis_signature', await checkBasisSignature(pack, keys, decision))]),
    toCheck('inclusion', await checkInclusion(pack, keys, read)),
    toCheck('witnesses', await checkWitnesses(pack, keys, trust.witnesses)),
    toCheck('anchor', await checkAnchor(pack, keys, read)),
  ]
  return {
    valid: checks.every(({ status }) => status !== 'failed'),
    network: genesis.network_name,
    root_public_key: genesis.root_public_key,
    decision_id: decision?.record.decision_id ?? null,
    result: decision === undefined ? null : meaningOf(decision.record),
    checks,
    not_proven: findUnproven(pack, read, checks, trust),
  }
}

function toCheck(name: PackCheckName, found: Finding): PackCheck {
  if ('missing' in found) return { name, status: 'unchecked', detail: found.missing }
  return found.ok ? { name, status: 'passed', detail: null } : { name, status: 'failed', detail: found.reason }
}

/** The pack has what it lists, and nothing was changed since it was written. */
function checkContents(pack: EvidencePack): Finding {
  const found = new Map(Object.entries(countContents(pack)))
  for (const [name, stated] of Object.entries(pack.contents))
    if (found.get(name) !== stated) return failed(`${name}: ${stated} listed, ${found.get(name) ?? 0} found`)
  return digestPack(pack) === pack.pack_digest ? PASSED : failed('pack_digest_mismatch')
}

function checkRoot(
  genesis: GenesisBlock,
  { genesis: trusted, rootKey }: PackTrust,
  decision: PackDecision | undefined,
): Finding {
  if (rootKey !== undefined && rootKey !== genesis.root_public_key) return failed('unknown_root_key')
  if (trusted === undefined)
    return rootKey === undefined ? missing('compare the root key with the one you were given') : PASSED
  if (genesis.network_name !== trusted.network_name) return failed('other_network')
  if (genesis.root_public_key !== trusted.root_public_key) return failed('unknown_root_key')
  if (genesisDigest(genesis) === genesisDigest(trusted)) return PASSED
  const [own, pinned] = [genesis.network_authority, trusted.network_authority]
  if (instantOf(own.valid_from) > instantOf(pinned.valid_from)) return PASSED
  // An earlier block of the same root. Its key may be stolen by now, so it counts only before the next one began.
  const isEarlier = decision !== undefined && instantOf(decision.record.decision_made_at) < instantOf(pinned.valid_from)
  return isEarlier && own.public_key !== pinned.public_key ? PASSED : failed('other_genesis')
}
