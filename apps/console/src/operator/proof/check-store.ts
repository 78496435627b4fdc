import {
  AnchorChecker,
  StoreChecker,
  asReceived,
  foldHashes,
  fromHex,
  hashLeaf,
  joinBytes,
  openLog,
  readEventLine,
  sameBytes,
  signersOf,
  storeAnchorForm,
  toBase64,
  treeRoot,
  verifyReceived,
} from '@chancery/protocol'
import type { AuthorityKeys, StoreAnchor, StoreFinding, StoreReport } from '@chancery/protocol'
import type { AnchorPage } from '@chancery/sdk/authority'
import { at, read } from '../client.ts'
import { failureText } from '../words/evidence.ts'
import { readEntryLines } from './entry-lines.ts'
import { readExecutors, readGenesis, readLog, withHistory } from './gather.ts'

export interface CheckedStore {
  readonly report: StoreReport
  /** What is wrong, as sentences; at most 20. */
  readonly problems: readonly string[]
  /** The first and last checked sequence; both 0 for an empty store. */
  readonly first: number
  readonly last: number
  readonly lastDigest: string
  /** False when the store has more entries than a page checks. */
  readonly isWhole: boolean
  /** The root of the public log, as computed from the entries; undefined when it cannot be computed here. */
  readonly log: { readonly root: string; readonly isSigned: boolean } | undefined
  readonly ms: number
}

export interface CheckOptions {
  readonly signal: AbortSignal
  readonly onProgress: (checked: number) => void
}

const MAX_LINES = 20_000
const PER_READ = 1000
const MAX_PROBLEMS = 20

/** Reads the store and verifies every digest, link, signature and anchor in this browser. */
export async function checkStore(options: CheckOptions): Promise<CheckedStore> {
  const genesis = await readGenesis()
  const found = await checkWith({ genesis }, options)
  const isOther = found.report.failures.some(({ reason }) => SIGNATURE_REASONS.includes(reason))
  // Entries from before a key succession are signed with a former key.
  const keys = isOther ? await withHistory(genesis, [{ issued_at: '1970-01-01T00:00:00Z' }]) : { genesis }
  return keys.history === undefined ? found : checkWith(keys, options)
}

const SIGNATURE_REASONS: readonly string[] = ['invalid_signature', 'anchor_invalid_signature']

async function checkWith(authority: AuthorityKeys, options: CheckOptions): Promise<CheckedStore> {
  const start = performance.now()
  const executors = await readExecutors()
  const anchors = await readAnchors(options.signal)
  const first = (await readEntryLines(0, 1, options.signal))[0]
  const beginsLater = first !== undefined && readEventLine(first)?.entry.store_sequence !== 1
  const checker = new StoreChecker({
    keys: { authority, executor: (id) => executors.get(id) },
    scope: beginsLater ? 'view' : 'store',
    // A partial view does not contain earlier entries, so anchors cannot be verified.
    ...(beginsLater ? {} : { anchors: await AnchorChecker.open(anchors, authority, authority.genesis.network_name) }),
  })
  const leaves: Uint8Array[] = []
  let isWhole = true
  for (let after = 0; ;) {
    const lines = await readEntryLines(after, PER_READ, options.signal)
    for (const line of lines) {
      const event = await checker.add(line)
      if (event !== undefined) leaves.push(hashLeaf(fromHex(event.entryDigest) ?? new Uint8Array()))
    }
    options.onProgress(checker.checked)
    if (lines.length < PER_READ) break
    after = checker.lastSequence
    isWhole = checker.checked < MAX_LINES
    if (!isWhole) break
  }
  const all = await checker.finish()
  const report = isWhole ? all : { ...all, failures: all.failures.filter((each) => !isAfterEnd(each)) }
  return {
    report,
    problems: report.failures.slice(0, MAX_PROBLEMS).map(failureText),
    first: checker.firstSequence ?? 0,
    last: checker.lastSequence,
    lastDigest: checker.lastDigest ?? '',
    isWhole,
    log: beginsLater ? undefined : await compareRoot(authority, leaves),
    ms: Math.round(performance.now() - start),
  }
}

/** A check that stopped early did not read the entries of later anchors. */
const isAfterEnd = ({ reason }: StoreFinding): boolean => reason === 'export_ends_before_anchor'

async function readAnchors(signal: AbortSignal): Promise<readonly StoreAnchor[]> {
  const all: StoreAnchor[] = []
  for (let after_anchor: number | null = 0; after_anchor !== null;) {
    const query = { after_anchor, limit: PER_READ }
    const page: AnchorPage = await read<AnchorPage>(at`/admin/evidence/anchors`, query, signal)
    all.push(...page.anchors)
    after_anchor = page.next_after_anchor
  }
  return all
}

/** Computes the root of the public log from the entries, and compares it with the signed one. */
async function compareRoot(keys: AuthorityKeys, leaves: readonly Uint8Array[]): Promise<CheckedStore['log']> {
  const { note, identity } = await readLog()
  const opened = await openLog(note, keys, identity)
  if (opened === undefined || opened.size > leaves.length || opened.size === 0) return undefined
  const bytes = joinBytes(leaves)
  const root = await treeRoot(opened.size, async (level, index) => foldHashes(bytes, index * 2 ** level, 2 ** level))
  return { root: toBase64(root), isSigned: sameBytes(root, opened.root) }
}

/** Verifies the signatures of anchors. */
export async function verifyAnchors(anchors: readonly StoreAnchor[]): Promise<readonly boolean[]> {
  const keys = await withHistory(
    await readGenesis(),
    anchors.map(({ anchored_at }) => ({ issued_at: anchored_at })),
  )
  return Promise.all(
    anchors.map(
      async (anchor) => (await verifyReceived(asReceived(storeAnchorForm, anchor), signersOf(keys, anchor))).ok,
    ),
  )
}
