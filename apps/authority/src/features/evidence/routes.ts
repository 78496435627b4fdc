import { evidence } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import { anchor } from './anchor.ts'
import { anchors } from './anchors.ts'
import { execution } from './execution.ts'
import type { ExecutionParts } from './execution.ts'
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

export function evidenceRoutes(parts: ExecutionParts): readonly Binding[] {
  return [
    bind(evidence.execution, (call) => execution(call, parts)),
    bind(evidence.search, (call) => search(call, parts)),
    bind(evidence.resources, (call) => resources(call, parts)),
    bind(evidence.resourceHeads, (call) => resourceHeads(call, parts)),
    bind(evidence.vendors, (call) => vendors(call, parts)),
    bind(evidence.export, (call) => exportLines(call, parts)),
    bind(evidence.verify, (call) => verify(call, parts)),
    bind(evidence.status, (call) => status(call, parts)),
    bind(evidence.executorKeys, (call) => executorKeys(call, parts)),
    bind(evidence.registerKey, (call) => registerKey(call, parts)),
    bind(evidence.retireKey, (call) => retireKey(call, parts)),
    bind(evidence.retention, (call) => retention(call, parts)),
    bind(evidence.anchors, (call) => anchors(call, parts)),
    bind(evidence.anchor, (call) => anchor(call, parts)),
  ]
}
