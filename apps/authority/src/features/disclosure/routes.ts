import { disclosure } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { commit } from './commit.ts'
import { nullifier } from './nullifier.ts'
import { prove } from './prove.ts'
import { verify } from './verify.ts'

export const disclosureRoutes: readonly Binding<Office>[] = [
  bind(disclosure.commit, commit),
  bind(disclosure.nullifier, nullifier),
  bind(disclosure.prove, prove),
  bind(disclosure.verify, verify),
]
