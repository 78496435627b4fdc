import { consensus } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { proof } from './proof.ts'
import { verify } from './verify.ts'
import { vote } from './vote.ts'

export const consensusRoutes: readonly Binding<Office>[] = [
  bind(consensus.vote, vote),
  bind(consensus.proof, proof),
  bind(consensus.verify, verify),
]
