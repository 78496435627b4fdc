import { verifyPastTrust, verifyGenesisBlock } from '@chancery/protocol'
import type {
  AuthorityKeys,
  HistoryPage,
  Instant,
  TrustHistoryPage,
  PastVerdict,
  SavedLists,
  TrustSubject,
} from '@chancery/protocol'
import { checkRoot, findKeys } from '../evidence-pack/keys.ts'
import type { PackTrust } from '../evidence-pack/report.ts'
import { TrustHistoryError } from './file.ts'

/**
 * Whether a record was trusted at a past time, by the signed records of these pages. Each page must be of the trusted
 * network: its genesis block, or an earlier one that the trusted key history lists. `saved`: lists and feeds of that time
 * from another source, which can contradict the pages. Throws TrustHistoryError.
 */
export async function verifyPast(
  subject: TrustSubject,
  pages: Iterable<TrustHistoryPage> | AsyncIterable<TrustHistoryPage>,
  { at, trust, saved }: { readonly at: Instant; readonly trust: PackTrust; readonly saved?: SavedLists | undefined },
): Promise<PastVerdict> {
  return verifyPastTrust(subject, withTrustedKeys(pages, trust), at, saved)
}

/** Pages of one authority repeat its key records. They are verified once. */
async function* withTrustedKeys(
  pages: Iterable<TrustHistoryPage> | AsyncIterable<TrustHistoryPage>,
  trust: PackTrust,
): AsyncGenerator<HistoryPage> {
  const known = new Map<string, AuthorityKeys>()
  for await (const { genesis, key_history, ...page } of pages) {
    const name = JSON.stringify([genesis.signatures, key_history?.signatures ?? null])
    const keys = known.get(name) ?? (await trustedKeys({ genesis, key_history }, trust))
    known.set(name, keys)
    yield { ...page, keys }
  }
}

async function trustedKeys(
  records: Pick<TrustHistoryPage, 'genesis' | 'key_history'>,
  trust: PackTrust,
): Promise<AuthorityKeys> {
  const block = await verifyGenesisBlock(records.genesis)
  if (!block.ok) throw new TrustHistoryError(`The genesis block of the file does not verify: ${block.reason}.`)
  const root = await checkRoot(records, trust)
  if ('missing' in root) throw new TrustHistoryError('Give a genesis block or a root key that you trust.')
  if (!root.ok) throw new TrustHistoryError(`The file is not of the trusted network: ${root.reason}.`)
  const { keys, history } = await findKeys(records, trust)
  if (history !== undefined && (!('ok' in history) || !history.ok))
    throw new TrustHistoryError('The key history of the file does not verify.')
  return keys
}
