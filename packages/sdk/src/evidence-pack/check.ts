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
import type { PackEntries } from './check-entries.ts'
import { type LogFinding, checkAnchor, checkInclusion, checkWitnesses } from './check-log.ts'
import { PASSED, checkRoot, failed, findKeys } from './report.ts'
import type { EvidencePackReport, Finding, PackCheck, PackCheckName, PackKeys, PackTrust } from './report.ts'
import { type EvidencePack, countContents, digestPack } from './format.ts'

/** Returns what a pack does not prove, in plain sentences. A valid pack has these limits too. */
function findUnproven(
  pack: EvidencePack,
  { decision, executions }: PackEntries,
  checks: readonly PackCheck[],
  { trust, proven }: { readonly trust: PackTrust; readonly proven: readonly number[] },
): readonly string[] {
  const sentences = checks.flatMap(({ name, status, detail }) => {
    const text = UNCHECKED[name]
    return status === 'unchecked' && text !== undefined ? [`${text} Reason: ${detail ?? ''}.`] : []
  })
  if (trust.genesis === undefined && trust.rootKey !== undefined)
    sentences.push(
      `Not proven: that this block is still in force${trust.network === undefined ? ', and that its network is the one you mean' : ''}. The root key alone does not say it.`,
    )
  const record = decision?.record
  if (record === undefined) return sentences
  const { authorized, attestation_binding } = record
  if (authorized)
    sentences.push(
      proven.length === 0
        ? `Not proven: whether the action was executed. The pack has no ${executions.length === 0 ? '' : 'proven '}execution.`
        : 'Not proven: that there were no other executions. Executors report them.',
    )
  if (executions.length > 0 && trust.executorKeys === undefined)
    sentences.push('Not proven: that the executor keys are genuine. They come from this pack; compare them.')
  sentences.push('Not proven: the time of the decision. It is a statement of the authority, or of a holder of its key.')
  if (attestation_binding !== undefined)
    sentences.push(
      `Not proven: that the attestation was not revoked at that time. The authority states that it used revocation list ${attestation_binding.revocation_seq_checked}.`,
    )
  if (pack.agreement !== null)
    sentences.push('Not proven: the content of the agreement at that time. The decision names it by its id only.')
  if (pack.witnesses.length > 0 && trust.witnesses === undefined)
    sentences.push('Not proven: that the witnesses are independent. Their keys come from this pack; compare them.')
  sentences.push('Not proven: that the gates compute this outcome. Compute them again with boundary-policy replay.')
  return sentences
}

const UNCHECKED: Readonly<Partial<Record<PackCheckName, string>>> = {
  root_key: 'Not proven: that this is the network you mean.',
  context: 'Not proven: what was requested, and by whom.',
  justification: 'Not proven: why this was the outcome.',
  executions: 'Not proven: that every execution in the pack happened, and who executed it.',
  policies: 'Not proven: what every applied policy says.',
  policy_texts: 'Not proven: what every named policy text says.',
  treaty: 'Not proven: that the authority recognised the partner.',
  basis: 'Not proven: what the attestation or agreement says.',
  basis_signature: 'Not proven: who signed the attestation or agreement.',
  inclusion: 'Not proven: that every entry is in the public log.',
  witnesses: 'Not proven: that the authority shows the same log to all readers.',
  anchor: 'Not proven: that the authority anchored the decision.',
}

/**
 * Verifies an evidence pack without a call: signatures under the keys of their time, digests and links of the entries,
 * the policies and the basis that the decision names, the place in the public log, and the anchor. One failed check
 * does not stop the others, so that a changed part is named. Every member of the pack is covered by a check. A pack is
 * valid only with a trusted genesis block or root key: anyone can make a network and sign a pack.
 */
export async function verifyPack(pack: EvidencePack, trust: PackTrust = {}): Promise<EvidencePackReport> {
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
