import { trustEvidence } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { TrustEvidenceParts } from './parts.ts'
import { issue } from './issue.ts'
import { verify } from './verify.ts'

export function trustEvidenceRoutes(parts: TrustEvidenceParts): readonly Binding<unknown>[] {
  return [
    bind(trustEvidence.issue, (call) => issue(call, parts)),
    bind(trustEvidence.verify, (call) => verify(call, parts)),
  ]
}
