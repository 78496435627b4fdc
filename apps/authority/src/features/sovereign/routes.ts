import { sovereign } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { genesis } from './genesis.ts'
import { keyHistory } from './key-history.ts'
import { keySuccession } from './key-succession.ts'
import { metadata } from './metadata.ts'

export const sovereignRoutes: readonly Binding<Office>[] = [
  bind(sovereign.genesis, genesis),
  bind(sovereign.metadata, metadata),
  bind(sovereign.keyHistory, keyHistory),
  bind(sovereign.keySuccession, keySuccession),
]
