import type { Findings, NewAlarm } from './findings.ts'

interface Numbered {
  readonly sequence: number
  readonly digest: string
}

/** Two contents with one number, or a number below the highest: the stored content stays. */
export type SequenceResult = 'rollback' | 'equivocation' | 'same' | 'newer'

/**
 * Compares a document with the stored one and the highest sequence. The second rollback in a row raises an alarm. The
 * digests cover the content that counts: ids, or entries.
 */
export function checkSequence(
  findings: Findings,
  material: 'feed' | 'crl',
  offered: Numbered & { readonly content: string; readonly text: string | null },
  stored: (Numbered & { readonly content: string | null }) | undefined,
  highest: number,
): SequenceResult {
  const alarm = (kind: NewAlarm['kind']): void => {
    findings.alarms.push({
      kind,
      material,
      sequence: offered.sequence,
      held_digest: stored?.digest ?? null,
      offered_digest: offered.digest,
      offered_text: offered.text,
    })
  }
  findings.offered.set(material, offered.text)
  const { rollbacks } = findings.facts
  const isLower = offered.sequence < Math.max(highest, stored?.content === null ? 0 : (stored?.sequence ?? 0))
  const count = isLower ? rollbacks[material] + 1 : 0
  findings.facts = { ...findings.facts, rollbacks: { ...rollbacks, [material]: count } }
  if (isLower) {
    if (count > 1) alarm('rollback')
    return 'rollback'
  }
  if (stored === undefined || stored.content === null || stored.sequence !== offered.sequence) return 'newer'
  if (stored.content === offered.content) return 'same'
  alarm('equivocation')
  return 'equivocation'
}

/** The partner shows what is stored: rollbacks before it are not in a row with later ones. */
export function noteUnchanged(findings: Findings, material: 'feed' | 'crl'): void {
  const { facts } = findings
  findings.facts = { ...facts, rollbacks: { ...facts.rollbacks, [material]: 0 } }
  findings.outcomes.push('unchanged')
}
