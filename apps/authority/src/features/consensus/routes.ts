import { consensus } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { ConsensusParts } from './parts.ts'
import { proof } from './proof.ts'
import { verify } from './verify.ts'
import { vote } from './vote.ts'

export function consensusRoutes(parts: ConsensusParts): readonly Binding<unknown>[] {
  return [
    bind(consensus.vote, (call) => vote(call, parts)),
    bind(consensus.proof, (call) => proof(call, parts)),
    bind(consensus.verify, (call) => verify(call, parts)),
  ]
}
