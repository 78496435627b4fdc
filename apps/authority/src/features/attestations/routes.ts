import { attestations } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { find } from './find.ts'
import { issue } from './issue.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'
import { verify } from './verify.ts'
import { verifyWithTreaty } from './verify-with-treaty.ts'

export const attestationRoutes: readonly Binding<Office>[] = [
  bind(attestations.list, list),
  bind(attestations.find, find),
  bind(attestations.issue, issue),
  bind(attestations.revoke, revoke),
  bind(attestations.verify, verify),
  bind(attestations.verifyWithTreaty, verifyWithTreaty),
]
