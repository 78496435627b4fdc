import { disclosure } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { DisclosureParts } from './parts.ts'
import { commit } from './commit.ts'
import { nullifier } from './nullifier.ts'
import { prove } from './prove.ts'
import { verify } from './verify.ts'

export function disclosureRoutes(parts: DisclosureParts): readonly Binding<unknown>[] {
  return [
    bind(disclosure.commit, (call) => commit(call, parts)),
    bind(disclosure.nullifier, (call) => nullifier(call, parts)),
    bind(disclosure.prove, (call) => prove(call, parts)),
    bind(disclosure.verify, (call) => verify(call, parts)),
  ]
}
