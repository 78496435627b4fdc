import { disclosure } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { commit } from './commit.ts'
import { nullifier } from './nullifier.ts'
import type { DisclosureParts } from './parts.ts'
import { prove } from './prove.ts'
import { verify } from './verify.ts'

export function openDisclosure(parts: DisclosureParts): Feature {
  return {
    routes: [
      bind(disclosure.commit, (call) => commit(call, parts)),
      bind(disclosure.nullifier, (call) => nullifier(call, parts)),
      bind(disclosure.prove, (call) => prove(call, parts)),
      bind(disclosure.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
