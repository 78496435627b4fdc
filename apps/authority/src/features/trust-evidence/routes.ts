import { trustEvidence } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { issue } from './issue.ts'
import { verify } from './verify.ts'

export const trustEvidenceRoutes: readonly Binding<Office>[] = [
  bind(trustEvidence.issue, issue),
  bind(trustEvidence.verify, verify),
]
