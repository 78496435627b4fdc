import { StoreChecker } from '@chancery/protocol'
import type { EvidenceStoreEntry, StoreReport } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'

export interface CheckedChain {
  readonly report: StoreReport
  /** The newest entries, newest first, each with its own digest as derived here. */
  readonly newest: readonly { readonly entry: EvidenceStoreEntry; readonly digest: string }[]
  /** False when there were more lines than a page checks. */
  readonly isWhole: boolean
  /** The first lines were removed by retention: the links are judged from where they show. */
  readonly beginsLater: boolean
}

const MAX_LINES = 20_000
const SHOWN = 12

/** Reads the store and re-derives every digest, link and signature in this browser. No word of the authority is taken. */
export async function checkChain(client: Client, authorityKey: string): Promise<CheckedChain> {
  const keys = new Map((await client.evidence.executorKeys()).map((key) => [key.key_id, key]))
  const [first] = await client.evidence.lines(0, 1)
  const beginsLater = first !== undefined && !/"store_sequence":1[,}]/.test(first)
  const checker = new StoreChecker({
    keys: { authority: [authorityKey], executor: (id) => keys.get(id) },
    scope: beginsLater ? 'view' : 'store',
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
  return { report: await checker.finish(), newest, isWhole, beginsLater }
}
