import { recognitionTreaties } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { find } from './find.ts'
import { issue } from './issue.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'
import { verify } from './verify.ts'

export const recognitionTreatyRoutes: readonly Binding<Office>[] = [
  bind(recognitionTreaties.list, list),
  bind(recognitionTreaties.find, find),
  bind(recognitionTreaties.issue, issue),
  bind(recognitionTreaties.revoke, revoke),
  bind(recognitionTreaties.verify, verify),
]
