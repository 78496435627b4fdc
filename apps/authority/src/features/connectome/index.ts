import { connectome } from '@chancery/contract'
import type { LostPaths } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { atlasPage } from './atlas-page.ts'
import { atlas } from './atlas.ts'
import type { BuiltGraph } from './builder.ts'
import { GraphCache } from './graph-cache.ts'
import { graph } from './graph.ts'
import { page } from './page.ts'
import type { ConnectomeParts } from './parts.ts'
import { summary } from './summary.ts'
import { trustPath } from './trust-path.ts'
import type { FindingWithDigest, TrustRequest } from './views.ts'

export { lifecycleTone } from './lifecycle-tone.ts'
export type { TreatyRow, TreatySummary } from './treaty-table.ts'

export interface Connectome extends Feature {
  /** The current recognition graph. */
  current(): Promise<BuiltGraph>
  /** Returns the sovereigns that recognise this one now, according to stored treaties. */
  acceptedBy(sovereign: string): Promise<readonly string[]>
  /** Returns the impact of ending a treaty. */
  previewTreatyEnd(treaty_id: string): Promise<LostPaths>
  /** Returns H(C(g)) of the current recognition graph (protocol/trust-operations 2.2). */
  graphDigest(): Promise<string>
  /** Returns the current finding about a sovereign, and the digest of the same graph. */
  findTrustNow(asked: TrustRequest): Promise<Omit<FindingWithDigest, 'treaty_ids'>>
}

export function openConnectome(parts: ConnectomeParts): Connectome {
  const cache = new GraphCache()
  const current = (): Promise<BuiltGraph> => cache.current(parts)
  const own = { ...parts, graph: cache }
  return {
    routes: [
      bind(connectome.graph, (call) => graph(call, own)),
      bind(connectome.page, (call) => page(call, own)),
      bind(connectome.summary, (call) => summary(call, own)),
      bind(connectome.trustPath, (call) => trustPath(call, own)),
      bind(connectome.atlasPage, (call) => atlasPage(call, own)),
      bind(connectome.atlas, (call) => atlas(call, own)),
    ],
    jobs: [],
    current,
    acceptedBy: async (sovereign) => (await current()).acceptedBy(sovereign),
    previewTreatyEnd: async (treaty_id) => (await current()).lostPaths(treaty_id),
    graphDigest: async () => (await current()).digest(),
    findTrustNow: async (asked) => {
      const { finding, graph_digest } = await cache.ask(
        parts,
        (built) => built.trustFinding(asked),
        (found) => found.treaty_ids,
      )
      return { finding, graph_digest }
    },
    close: () => cache.close(),
  }
}
