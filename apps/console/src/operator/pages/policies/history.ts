import { READ_LIMITS, readJson } from '@chancery/protocol'
import type { BoundaryPolicyVersion } from '@chancery/sdk/authority'
import { at, readJsonText } from '../../client.ts'

/** All versions of one policy in one page, newest first. */
const VERSIONS = 1000

export interface PolicyHistory {
  readonly versions: readonly BoundaryPolicyVersion[]
  /** As sent: a digest covers the spelling of numbers. */
  readonly text: string
}

/** One page has many policies, so it has more values than one record may have. */
export const HISTORY_LIMITS = { ...READ_LIMITS, maxValues: 5_000_000 }

/** Reads the versions with their numbers as signed: a draft of a policy with 90.0 must not become one with 90. */
export const versionsOf = (text: string): PolicyHistory['versions'] =>
  (readJson(text, HISTORY_LIMITS) as unknown as Pick<PolicyHistory, 'versions'>).versions

export async function readHistory(policyId: string, signal?: AbortSignal): Promise<PolicyHistory> {
  const target = at`/admin/boundary-policies/${policyId}/history`
  const text = await readJsonText(target, { limit: VERSIONS }, signal)
  return { versions: versionsOf(text), text }
}
