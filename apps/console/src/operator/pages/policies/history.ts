import type { BoundaryPolicyVersion } from '@chancery/sdk'
import { at, read } from '../../client.ts'

/** All versions of one policy in one page, newest first. */
const VERSIONS = 1000

export async function readHistory(policyId: string, signal?: AbortSignal): Promise<readonly BoundaryPolicyVersion[]> {
  const { versions } = await read<{ readonly versions: readonly BoundaryPolicyVersion[] }>(
    at`/admin/boundary-policies/${policyId}/history`,
    { limit: VERSIONS },
    signal,
  )
  return versions
}
