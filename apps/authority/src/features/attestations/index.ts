import { attestations } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { AttestationReader } from './attestation-state.ts'
import { find } from './find.ts'
import { issue } from './issue.ts'
import { list } from './list.ts'
import type { AttestationsParts } from './parts.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { revoke } from './revoke.ts'
import { verifyWithTreaty } from './verify-with-treaty.ts'
import { verify } from './verify.ts'

export { listRevokedAttestations, markAttestationRevoked } from './queries/attestations.ts'

export interface Attestations extends Feature {
  /** Reads attestations for decisions, each time again. */
  readonly reader: AttestationReader
}

export function openAttestations(parts: AttestationsParts): Attestations {
  const reader = new AttestationReader(parts)
  return {
    routes: [
      bind(attestations.list, (call) => list(call, parts)),
      bind(attestations.find, (call) => find(call, parts)),
      bind(attestations.issue, (call) => issue(call, parts)),
      bind(attestations.revoke, (call) => revoke(call, forRevocations(parts))),
      bind(attestations.verify, (call) => verify(call, parts)),
      bind(attestations.verifyWithTreaty, (call) => verifyWithTreaty(call, parts)),
    ],
    jobs: [],
    reader,
    close: () => reader.close(),
  }
}
