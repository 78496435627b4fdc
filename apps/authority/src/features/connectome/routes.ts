import { connectome } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { atlas } from './atlas.ts'
import { atlasPage } from './atlas-page.ts'
import { graph } from './graph.ts'
import { page } from './page.ts'
import { summary } from './summary.ts'
import { trustPath } from './trust-path.ts'

export const connectomeRoutes: readonly Binding<Office>[] = [
  bind(connectome.graph, graph),
  bind(connectome.page, page),
  bind(connectome.summary, summary),
  bind(connectome.trustPath, trustPath),
  bind(connectome.atlasPage, atlasPage),
  bind(connectome.atlas, atlas),
]
