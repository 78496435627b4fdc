import {
  AnchorChecker,
  type AuthorityKeys,
  StoreChecker,
  fromHex,
  allAuthorityKeys,
  hashLeaf,
  logOrigin,
  orderAnchors,
  readOrUndefined,
  readReceipt,
  readReceived,
  storeAnchorForm,
  verifyReceipt as verifyCose,
} from '@chancery/protocol'
import type { AnchorFinding, JsonValue, StoreAnchor, StoreReport } from '@chancery/protocol'
import { type NetworkIdentity, readIdentity } from '../trust/identity.ts'

/** Whose store it is, and the executors whose records it has. */
export interface StoreTrust extends NetworkIdentity {
  readonly executors?: Readonly<Record<string, { readonly public_key: string; readonly executor_sovereign_id: string }>>
  /** Anchors of another time or place: they show a store that was rewritten. */
  readonly anchors?: readonly StoreAnchor[]
}

export interface ExportVerdict {
  readonly valid: boolean
  readonly report: StoreReport
}

/** Recomputes every digest, link and signature of the lines of an export. */
export async function verifyExport(
  lines: Iterable<string> | AsyncIterable<string>,
  trust: StoreTrust,
): Promise<ExportVerdict> {
  const authority = readIdentity(trust)
  const executors = new Map(Object.entries(trust.executors ?? {}))
  const { anchors } = trust
  const checker = new StoreChecker({
    keys: { authority, executor: (id) => executors.get(id) },
    scope: 'store',
    ...(anchors === undefined ? {} : { anchors: await openAnchors(anchors, authority) }),
  })
  for await (const line of lines) if (line !== '') await checker.add(line)
  const report = await checker.finish()
  return { valid: report.failures.length === 0, report }
}

export interface AnchorsVerdict {
  readonly valid: boolean
  /** Signatures, network and chain of the anchors themselves. */
  readonly findings: readonly AnchorFinding[]
}

/** Verifies anchors in themselves; `verifyExport` compares them with the entries. */
export async function verifyAnchors(anchors: readonly JsonValue[], trust: NetworkIdentity): Promise<AnchorsVerdict> {
  const read = anchors.map((anchor) => readReceived(storeAnchorForm, anchor).record)
  const { chainFindings } = await openAnchors(read, readIdentity(trust))
  return { valid: chainFindings.length === 0, findings: chainFindings }
}

function openAnchors(anchors: readonly StoreAnchor[], keys: AuthorityKeys): Promise<AnchorChecker> {
  return AnchorChecker.open(orderAnchors(anchors).anchors, keys, keys.genesis.network_name)
}

export type ReceiptVerdict =
  | { readonly valid: true; readonly leafIndex: number; readonly treeSize: number; readonly subject: string }
  | { readonly valid: false; readonly reason: 'malformed' | 'wrong_log' | 'invalid_signature' }

/** Verifies a COSE receipt: that the log of this network has the entry with this digest. */
export async function verifyReceipt(
  receipt: Uint8Array,
  { entryDigest, ...trust }: NetworkIdentity & { readonly entryDigest: string },
): Promise<ReceiptVerdict> {
  const read = readReceipt(receipt)
  const digest = readOrUndefined(() => fromHex(entryDigest))
  if (read === undefined || digest === undefined) return { valid: false, reason: 'malformed' }
  const keys = readIdentity(trust)
  if (read.issuer !== logOrigin(keys.genesis.network_name)) return { valid: false, reason: 'wrong_log' }
  const leaf = hashLeaf(digest)
  for (const key of allAuthorityKeys(keys))
    if (await verifyCose(read, leaf, key))
      return { valid: true, leafIndex: read.index, treeSize: read.size, subject: read.subject }
  return { valid: false, reason: 'invalid_signature' }
}
