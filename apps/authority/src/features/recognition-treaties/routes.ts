import { recognitionTreaties } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { find } from './find.ts'
import { issue } from './issue.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'
import { verify } from './verify.ts'

export function recognitionTreatyRoutes(parts: RecognitionTreatiesParts): readonly Binding<unknown>[] {
  return [
    bind(recognitionTreaties.list, (call) => list(call, parts)),
    bind(recognitionTreaties.find, (call) => find(call, parts)),
    bind(recognitionTreaties.issue, (call) => issue(call, parts)),
    bind(recognitionTreaties.revoke, (call) => revoke(call, parts)),
    bind(recognitionTreaties.verify, (call) => verify(call, parts)),
  ]
}
