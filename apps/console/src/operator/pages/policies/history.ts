import type { BoundaryPolicyVersion } from '@chancery/sdk'
import { at, readJsonText } from '../../client.ts'

/** All versions of one policy in one page, newest first. */
const VERSIONS = 1000

export interface PolicyHistory {
  readonly versions: readonly BoundaryPolicyVersion[]
  /** As sent: a digest covers the spelling of numbers. */
  readonly text: string
}

export const versionsOf = (text: string): PolicyHistory['versions'] =>
  (JSON.parse(text) as Pick<PolicyHistory, 'versions'>).versions

export async function readHistory(policyId: string, signal?: AbortSignal): Promise<PolicyHistory> {
  const target = at`/admin/boundary-policies/${policyId}/history`
  const text = await readJsonText(target, { limit: VERSIONS }, signal)
  return { versions: versionsOf(text), text }
}
