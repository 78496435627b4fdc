import { AnchorChecker, StoreChecker } from '@chancery/protocol'
import type { EvidenceStoreEntry, StoreAnchor, StoreReport } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'

export interface CheckedChain {
  readonly report: StoreReport
  /** The newest entries, newest first, each with its own digest as derived here. */
  readonly newest: readonly { readonly entry: EvidenceStoreEntry; readonly digest: string }[]
  /** False when there were more lines than a page checks. */
  readonly isWhole: boolean
  /** The first lines were removed by retention: the links are judged from where they show. */
  readonly beginsLater: boolean
  /** Signed heads, each found again in the chain; the newest first. */
  readonly anchors: readonly StoreAnchor[]
}

export interface Authority {
  readonly sovereign: string
  readonly key: string
}

const MAX_LINES = 20_000
const SHOWN = 12

/**
 * Reads the store and re-derives every digest, link and signature in this browser, and holds the anchors against it. No
 * word of the authority is taken.
 */
export async function checkChain(client: Client, { sovereign, key }: Authority): Promise<CheckedChain> {
  const keys = new Map((await client.evidence.executorKeys()).map((each) => [each.key_id, each]))
  const [first] = await client.evidence.lines(0, 1)
  const beginsLater = first !== undefined && !/"store_sequence":1[,}]/.test(first)
  const anchors = await allAnchors(client)
  const checker = new StoreChecker({
    keys: { authority: [key], executor: (id) => keys.get(id) },
    scope: beginsLater ? 'view' : 'store',
    // A view says nothing about what came before it, so anchors cannot be held against one.
    ...(beginsLater ? {} : { anchors: await AnchorChecker.open(anchors, [key], sovereign) }),
  })
  const newest: { entry: EvidenceStoreEntry; digest: string }[] = []
  let isWhole = true
  for await (const line of client.evidence.export(0)) {
    if (checker.checked >= MAX_LINES) {
      isWhole = false
      break
    }
    const read = await checker.add(line)
    if (read === undefined) continue
    newest.unshift({ entry: read.entry, digest: read.entryDigest })
    if (newest.length > SHOWN) newest.pop()
  }
  return { report: await checker.finish(), newest, isWhole, beginsLater, anchors: anchors.toReversed() }
}

async function allAnchors(client: Client): Promise<readonly StoreAnchor[]> {
  const all: StoreAnchor[] = []
  for (let after: number | null = 0; after !== null;) {
    const page = await client.evidence.anchors({ after_anchor: after, limit: 1000 })
    all.push(...page.anchors)
    after = page.next_after_anchor
  }
  return all
}
