import { meaningOf, verifyGenesisBlock } from '@chancery/protocol'
import { checkBasis, checkBasisSignature, checkPolicies, checkTexts, checkTreaty, needsTreaty } from './check-basis.ts'
import {
  checkContext,
  checkDecision,
  checkExecutions,
  checkJustification,
  findEntryProblems,
  provenExecutions,
  readEntries,
  toProblems,
} from './check-entries.ts'
import { type LogFinding, checkAnchor, checkInclusion, checkWitnesses } from './check-log.ts'
import { type Finding, PASSED, failed } from './finding.ts'
import { type EvidencePack, countContents, digestPack } from './format.ts'
import { type PackKeys, checkRoot, findKeys } from './keys.ts'
import type { EvidencePackReport, PackCheck, PackCheckName, PackTrust } from './report.ts'
import { findUnproven } from './unproven.ts'

/**
 * Verifies an evidence pack without a call: signatures under the keys of their time, digests and links of the entries,
 * the policies and the basis that the decision names, the place in the public log, and the anchor. One failed check
 * does not stop the others, so that a changed part is named. Every member of the pack is covered by a check. A pack is
 * valid only with a trusted genesis block or root key: anyone can make a network and sign a pack.
 */
export async function checkEvidencePack(pack: EvidencePack, trust: PackTrust = {}): Promise<EvidencePackReport> {
  const { genesis } = pack
  const { keys, own, history } = await orFailed(
    () => findKeys(pack, trust),
    (finding): PackKeys => ({ keys: { genesis }, own: { genesis }, history: finding }),
  )
  const read = readEntries(pack)
  const { decision } = read
  const problems = await orFailed(() => findEntryProblems(pack, keys, read), toProblems)
  const { finding: inclusion, included } = await orFailed(
    () => checkInclusion(pack, keys, read),
    (finding): LogFinding => ({ finding, included: new Set() }),
  )
  const proven = provenExecutions(problems, pack, read, { pinned: trust.executorKeys, included })
  const hasExecutions = read.events.some((event) => event?.entry.entry_kind === 'execution')
  const parts: readonly (readonly [PackCheckName, () => Finding | Promise<Finding>])[] = [
    ['contents', () => checkContents(pack)],
    ['genesis', () => verifyGenesisBlock(genesis)],
    ['root_key', () => checkRoot(pack, trust)],
    ...(history === undefined ? [] : [['key_history', () => history] as const]),
    ['decision', () => checkDecision(problems, { keys, own }, decision)],
    ['context', () => checkContext(decision, included)],
    ['justification', () => checkJustification(problems, keys, read)],
    ...(hasExecutions || pack.executor_keys.length > 0
      ? [['executions', () => checkExecutions(problems, pack, read, { pinned: trust.executorKeys, proven })] as const]
      : []),
    ['policies', () => checkPolicies(pack, keys, decision)],
    ['policy_texts', () => checkTexts(pack)],
    ...(needsTreaty(pack, decision) ? [['treaty', () => checkTreaty(pack, keys, decision)] as const] : []),
    ['basis', () => checkBasis(pack, decision)],
    ...(pack.attestation === null && pack.agreement === null
      ? []
      : [['basis_signature', () => checkBasisSignature(pack, keys, decision)] as const]),
    ['inclusion', () => inclusion],
    ['witnesses', () => checkWitnesses(pack, keys, trust.witnesses)],
    ['anchor', () => checkAnchor(pack, keys, read)],
  ]
  const checks: PackCheck[] = []
  for (const [name, check] of parts) checks.push(toCheck(name, await orFailed(check, (finding) => finding)))
  const isTrusted = checks.some(({ name, status }) => name === 'root_key' && status === 'passed')
  return {
    valid: isTrusted && checks.every(({ status }) => status !== 'failed'),
    network: genesis.network_name,
    root_public_key: genesis.root_public_key,
    decision_id: decision?.record.decision_id ?? null,
    result: decision === undefined ? null : meaningOf(decision.record),
    proven_executions: proven,
    checks,
    not_proven: findUnproven(pack, read, checks, { trust, proven }),
  }
}

/** A record that a check cannot handle is a failure of this check: the others still run. */
async function orFailed<Result>(
  check: () => Result | Promise<Result>,
  toResult: (finding: Finding) => Result,
): Promise<Result> {
  try {
    return await check()
  } catch (error) {
    return toResult(failed(`cannot_be_checked: ${error instanceof Error ? error.message : String(error)}`))
  }
}

function toCheck(name: PackCheckName, found: Finding): PackCheck {
  if ('missing' in found) return { name, status: 'unchecked', detail: found.missing }
  return found.ok ? { name, status: 'passed', detail: null } : { name, status: 'failed', detail: found.reason }
}

/** The pack has what it lists, and was not damaged. Counts and digest have no signature. */
function checkContents(pack: EvidencePack): Finding {
  const found = new Map(Object.entries(countContents(pack)))
  for (const [name, stated] of Object.entries(pack.contents))
    if (found.get(name) !== stated) return failed(`${name}: ${stated} listed, ${found.get(name) ?? 0} found`)
  return digestPack(pack) === pack.pack_digest ? PASSED : failed('pack_digest_mismatch')
}
