import { sovereign } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { SovereignParts } from './parts.ts'
import { genesis } from './genesis.ts'
import { keyHistory } from './key-history.ts'
import { keySuccession } from './key-succession.ts'
import { metadata } from './metadata.ts'

export function sovereignRoutes(parts: SovereignParts): readonly Binding<unknown>[] {
  return [
    bind(sovereign.genesis, (call) => genesis(call, parts)),
    bind(sovereign.metadata, (call) => metadata(call, parts)),
    bind(sovereign.keyHistory, (call) => keyHistory(call, parts)),
    bind(sovereign.keySuccession, (call) => keySuccession(call, parts)),
  ]
}
