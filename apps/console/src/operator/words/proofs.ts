/** The checks of a decision in this browser, in the order they are shown. */
export const CHECK_WORDS = {
  signature: 'The authority signed the decision',
  justification: 'The justification is signed and is about this decision',
  context: 'The request is the one that was decided',
  policies: 'The policies are the published ones',
  attestation: 'The attestation is the stored one',
  executions: 'The executors signed the executions',
  entries: 'The entries have the stored digests',
  links: 'The entries link to their neighbours',
  inclusion: 'The public log contains the decision',
  anchor: 'An anchor covers the decision',
} as const

export type CheckName = keyof typeof CHECK_WORDS

export type CheckStatus = 'passed' | 'failed' | 'waits' | 'unchecked'

export interface CheckLine {
  readonly name: CheckName
  readonly status: CheckStatus
  /** What was compared; why it cannot be checked here; or what waits. */
  readonly detail: string
  /** Both values of a failed comparison. */
  readonly values?: { readonly expected: string; readonly found: string }
}

/** Returns the sum above the lines: 7 of 8 passed. */
export function sumText(lines: readonly CheckLine[]): string {
  const count = (status: CheckStatus): number => lines.filter((line) => line.status === status).length
  const failed = count('failed')
  return failed > 0 ? `${failed} of ${lines.length} failed` : `${count('passed')} of ${lines.length} passed`
}
