import { AnchorChecker, StoreChecker } from '@chancery/protocol'
import type { AuthorityKeys, EvidenceStoreEntry, GenesisBlock, StoreAnchor, StoreReport } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import { withFormerKeys } from '../../former-keys.ts'

export interface CheckedChain {
  readonly report: StoreReport
  /** The newest entries, newest first, each with its digest as computed here. */
  readonly newest: readonly { readonly entry: EvidenceStoreEntry; readonly digest: string }[]
  /** False when the store has more lines than a page checks. */
  readonly isWhole: boolean
  /** True when retention removed the first lines. The links are verified from the first remaining line. */
  readonly beginsLater: boolean
  /** Signed heads that match the chain; newest first. */
  readonly anchors: readonly StoreAnchor[]
}

export interface Authority {
  readonly genesis: GenesisBlock
}

const MAX_LINES = 20_000
const SHOWN = 12

/**
 * Reads the store and verifies every digest, link, signature and anchor in this browser, without trusting the
 * authority.
 */
export async function checkChain(client: Client, { genesis }: Authority): Promise<CheckedChain> {
  const checked = await check(client, { genesis })
  const isOther = checked.report.failures.some(({ reason }) => SIGNATURE_REASONS.includes(reason))
  const keys = isOther ? await withFormerKeys(genesis) : undefined
  return keys === undefined ? checked : check(client, keys)
}

/** Entries and anchors from before a key succession are signed with a former key. */
const SIGNATURE_REASONS: readonly string[] = ['invalid_signature', 'anchor_invalid_signature']

async function check(client: Client, authority: AuthorityKeys): Promise<CheckedChain> {
  const sovereign = authority.genesis.network_name
  const keys = new Map((await client.evidence.executorKeys()).map((each) => [each.key_id, each]))
  const [first] = await client.evidence.lines(0, 1)
  const beginsLater = first !== undefined && !/"store_sequence":1[,}]/.test(first)
  const anchors = await allAnchors(client)
  const checker = new StoreChecker({
    keys: { authority, executor: (id) => keys.get(id) },
    scope: beginsLater ? 'view' : 'store',
    // A partial view does not contain earlier entries, so anchors cannot be verified.
    ...(beginsLater ? {} : { anchors: await AnchorChecker.open(anchors, authority, sovereign) }),
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
