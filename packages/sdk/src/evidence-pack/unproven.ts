import type { PackCheck, PackCheckName, PackTrust } from './report.ts'
import type { PackEntries } from './check-entries.ts'
import type { EvidencePack } from './format.ts'

/** Returns what a pack does not prove, in plain sentences. A valid pack has these limits too. */
export function findUnproven(
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
