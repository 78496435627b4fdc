import type { BuiltGraph } from './builder.ts'
import type { LostPaths } from '@chancery/protocol'
import type { FindingWithDigest, TrustRequest } from './views.ts'
import type { Feature } from '../../core.ts'
import { GraphCache } from './graph-cache.ts'
import type { ConnectomeParts } from './parts.ts'
import { connectomeRoutes } from './routes.ts'

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
  const graph = new GraphCache()
  const current = (): Promise<BuiltGraph> => graph.current(parts)
  return {
    routes: connectomeRoutes({ ...parts, graph }),
    jobs: [],
    current,
    acceptedBy: async (sovereign) => (await current()).acceptedBy(sovereign),
    previewTreatyEnd: async (treaty_id) => (await current()).lostPaths(treaty_id),
    graphDigest: async () => (await current()).digest(),
    findTrustNow: async (asked) => {
      const { finding, graph_digest } = await graph.ask(
        parts,
        (built) => built.trustFinding(asked),
        (found) => found.treaty_ids,
      )
      return { finding, graph_digest }
    },
    close: () => graph.close(),
  }
}
