import { sovereign } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { genesis } from './genesis.ts'
import { keyHistory } from './key-history.ts'
import { keySuccession } from './key-succession.ts'
import { metadata } from './metadata.ts'
import type { SovereignParts } from './parts.ts'

export function openSovereign(parts: SovereignParts): Feature {
  return {
    routes: [
      bind(sovereign.genesis, (call) => genesis(call, parts)),
      bind(sovereign.metadata, (call) => metadata(call, parts)),
      bind(sovereign.keyHistory, (call) => keyHistory(call, parts)),
      bind(sovereign.keySuccession, (call) => keySuccession(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
