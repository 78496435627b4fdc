import { evidenceLog } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { EvidenceLogParts } from './parts.ts'
import { checkpoint } from './checkpoint.ts'
import { entries } from './entries.ts'
import { tile } from './tile.ts'

export function evidenceLogRoutes(parts: EvidenceLogParts): readonly Binding[] {
  return [
    bind(evidenceLog.checkpoint, (call) => checkpoint(call, parts)),
    bind(evidenceLog.tile, (call) => tile(call, parts)),
    bind(evidenceLog.entries, (call) => entries(call, parts)),
  ]
}
