import { type CompactCrl, type Instant, type RevocationFeed, SECOND, instantOf } from '@chancery/protocol'
import { type Client, type FollowedKeys, UnreachableError } from '@chancery/sdk'
import { type Problem, checkFeed, checkListed, positionOf } from './check-lists.ts'
import type { WatchState } from './watch-state.ts'

/** Result of the check of one document. */
export interface DocumentCheck {
  readonly problems: readonly Problem[]
  readonly sequence?: number
  readonly ageSeconds?: number
  readonly expiresInSeconds?: number
}

export interface CheckRound {
  readonly at: Instant
  readonly crl: DocumentCheck
  readonly feed: DocumentCheck
  /** State to store for the next round. */
  readonly state: WatchState
}

interface CheckParts {
  readonly client: Client
  readonly followed: FollowedKeys
  readonly now: () => Instant
  readonly canary: string | undefined
}

/** Reads and checks both documents independently, so that a missing one does not hide problems of the other. */
export async function checkPublished(parts: CheckParts, state: WatchState): Promise<CheckRound> {
  const { client, followed, now, canary } = parts
  // An unreachable authority, or a block that the root did not sign, does not change the stored keys.
  await followed.follow(client).catch(() => 'unchanged')
  const [list, feed] = await Promise.all([
    attempt(() => client.crl.compact()),
    attempt(() => client.revocationFeeds.current()),
  ])
  const at = now()
  const pin = { keys: followed.keys, now: at }
  const listProblems = isProblem(list) ? [list] : await checkListed(list, pin, state.crl, canary)
  const feedProblems = isProblem(feed) ? [feed] : await checkFeed(feed, pin, state.feed)
  return {
    at,
    crl: { problems: listProblems, ...(isProblem(list) ? {} : describeList(list, at)) },
    feed: { problems: feedProblems, ...(isProblem(feed) ? {} : describeFeed(feed, at)) },
    state: {
      ...state,
      crl: isProblem(list) || !maySave(listProblems) ? state.crl : positionOf(list),
      feed:
        isProblem(feed) || !maySave(feedProblems)
          ? state.feed
          : { ...positionOf(feed), count: feed.revoked_attestation_ids.length },
    },
  }
}

/** An old list is stored, because it is the latest one. A list that contradicts the stored one is not. */
function maySave(problems: readonly Problem[]): boolean {
  return !problems.some((problem) => ['unauthentic', 'rollback', 'equivocation', 'future', 'shrunk'].includes(problem))
}

async function attempt<Document>(read: () => Promise<Document>): Promise<Document | Problem> {
  try {
    return await read()
  } catch (error) {
    return error instanceof UnreachableError ? 'unreachable' : 'malformed'
  }
}

function isProblem(found: CompactCrl | RevocationFeed | Problem): found is Problem {
  return typeof found === 'string'
}

function describeList({ position }: CompactCrl, at: Instant): Omit<DocumentCheck, 'problems'> {
  return {
    sequence: position.sequence,
    ageSeconds: secondsOf(at - position.issuedAt),
    expiresInSeconds: secondsOf(position.nextUpdate - at),
  }
}

function describeFeed(feed: RevocationFeed, at: Instant): Omit<DocumentCheck, 'problems'> {
  return { sequence: feed.sequence, ageSeconds: secondsOf(at - instantOf(feed.issued_at)) }
}

function secondsOf(duration: Instant): number {
  return Number(duration / SECOND)
}
