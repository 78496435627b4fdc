import { StepFailureError } from './step-failure.ts'
import { LIST_BYTES, type Pull } from './pull-context.ts'
import { checkSequence, noteUnchanged } from './sequence-check.ts'

/** Step 5: the revocation list of certificates. */
export async function readCrlStep({ parts, sovereign_id, read, keys, seen, findings }: Pull): Promise<void> {
  const { crl: stored } = findings.facts
  const { status, blocks, etag } = await read({ path: '/crl', maxBytes: LIST_BYTES, etag: stored?.etag })
  if (status === 304) return noteUnchanged(findings, 'crl')
  const { facts, text } = await parts.checks.run('crl', { blocks, sovereign_id, keys })
  const result = checkSequence(
    findings,
    'crl',
    { ...facts, content: facts.entries_digest, text },
    stored && { ...stored, content: stored.entries_digest },
    seen.get('crl') ?? 0,
  )
  if (result === 'rollback' || result === 'equivocation') throw new StepFailureError(result)
  if (stored?.digest !== facts.digest) findings.changed.push('crl')
  findings.outcomes.push('ok')
  findings.facts = { ...findings.facts, crl: { ...facts, ...(etag === undefined ? {} : { etag }) } }
  findings.sequences.set('crl', facts.sequence)
  findings.texts.set('crl', text)
}
