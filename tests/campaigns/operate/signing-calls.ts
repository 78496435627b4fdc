import { systemClock } from '@chancery/service-kit'
import { createInvite, newNodeCaller, testSigner } from '@chancery/testkit'
import type { AuthorityProcess, NodeCaller, TestResponse } from '@chancery/testkit'
import type { FaultRecorder } from '../faults/fault-recorder.ts'

export const ATTESTATION = { subject_id: 'clerk', roles: ['role:client'] }

export type SigningCall = readonly [name: string, call: () => Promise<TestResponse>]

/** One call of each kind that signs, besides a revocation. A join needs an invite, which is not signed. */
export async function signingCalls(
  authority: AuthorityProcess,
  by: { readonly node: NodeCaller; readonly cert_id: string; readonly recorder: FaultRecorder },
): Promise<readonly SigningCall[]> {
  const send = authority.as('privileged')
  const other = await newNodeCaller(authority.url, 'token join', systemClock)
  const invite = await createInvite(authority)
  const partner = { subject_sovereign_id: 'FJORD', subject_public_keys: [(await testSigner('p', 'partner')).publicKey] }
  return [
    ['a policy', () => send('POST', '/admin/policy', { policy_id: `p-${performance.now()}` })],
    ['an attestation', () => send('POST', '/admin/attestations', ATTESTATION)],
    ['a treaty', () => send('POST', '/admin/recognition-treaties', partner)],
    ['a decision', () => by.recorder.decideAt(authority)],
    ['a join', () => other.join(invite)],
    ['a renewal', () => by.node.renew(by.cert_id)],
  ]
}
