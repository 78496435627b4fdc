import { connectome } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { ConnectomeState } from './state.ts'
import { atlas } from './atlas.ts'
import { atlasPage } from './atlas-page.ts'
import { graph } from './graph.ts'
import { page } from './page.ts'
import { summary } from './summary.ts'
import { trustPath } from './trust-path.ts'

export function connectomeRoutes(parts: ConnectomeState): readonly Binding<unknown>[] {
  return [
    bind(connectome.graph, (call) => graph(call, parts)),
    bind(connectome.page, (call) => page(call, parts)),
    bind(connectome.summary, (call) => summary(call, parts)),
    bind(connectome.trustPath, (call) => trustPath(call, parts)),
    bind(connectome.atlasPage, (call) => atlasPage(call, parts)),
    bind(connectome.atlas, (call) => atlas(call, parts)),
  ]
}
