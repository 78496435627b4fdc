import { attestations } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { AttestationsParts } from './parts.ts'
import { find } from './find.ts'
import { issue } from './issue.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'
import { verify } from './verify.ts'
import { verifyWithTreaty } from './verify-with-treaty.ts'

export function attestationRoutes(parts: AttestationsParts): readonly Binding<unknown>[] {
  return [
    bind(attestations.list, (call) => list(call, parts)),
    bind(attestations.find, (call) => find(call, parts)),
    bind(attestations.issue, (call) => issue(call, parts)),
    bind(attestations.revoke, (call) => revoke(call, parts)),
    bind(attestations.verify, (call) => verify(call, parts)),
    bind(attestations.verifyWithTreaty, (call) => verifyWithTreaty(call, parts)),
  ]
}
