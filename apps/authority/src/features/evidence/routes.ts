import { evidence } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { anchor } from './anchor.ts'
import { anchors } from './anchors.ts'
import { execution } from './execution.ts'
import { executorKeys } from './executor-keys.ts'
import { exportLines } from './export.ts'
import { registerKey } from './register-key.ts'
import { resourceHeads } from './resource-heads.ts'
import { resources } from './resources.ts'
import { retention } from './retention.ts'
import { retireKey } from './retire-key.ts'
import { search } from './search.ts'
import { status } from './status.ts'
import { vendors } from './vendors.ts'
import { verify } from './verify.ts'

export const evidenceRoutes: readonly Binding<Office>[] = [
  bind(evidence.execution, execution),
  bind(evidence.search, search),
  bind(evidence.resources, resources),
  bind(evidence.resourceHeads, resourceHeads),
  bind(evidence.vendors, vendors),
  bind(evidence.export, exportLines),
  bind(evidence.verify, verify),
  bind(evidence.status, status),
  bind(evidence.executorKeys, executorKeys),
  bind(evidence.registerKey, registerKey),
  bind(evidence.retireKey, retireKey),
  bind(evidence.retention, retention),
  bind(evidence.anchors, anchors),
  bind(evidence.anchor, anchor),
]
