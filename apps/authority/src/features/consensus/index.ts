import { consensus } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import type { ConsensusParts } from './parts.ts'
import { proof } from './proof.ts'
import { verify } from './verify.ts'
import { vote } from './vote.ts'

export function openConsensus(parts: ConsensusParts): Feature {
  return {
    routes: [
      bind(consensus.vote, (call) => vote(call, parts)),
      bind(consensus.proof, (call) => proof(call, parts)),
      bind(consensus.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
