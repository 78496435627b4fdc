import { evidenceLog } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { checkpoint } from './checkpoint.ts'
import { entries } from './entries.ts'
import { tile } from './tile.ts'

export const evidenceLogRoutes: readonly Binding<Office>[] = [
  bind(evidenceLog.checkpoint, checkpoint),
  bind(evidenceLog.tile, tile),
  bind(evidenceLog.entries, entries),
]
