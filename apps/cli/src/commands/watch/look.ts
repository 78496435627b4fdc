import { SECOND, instantOf } from '@chancery/protocol'
import type { Crl, Instant, RevocationFeed } from '@chancery/protocol'
import { UnreachableError } from '@chancery/sdk'
import type { Client, FollowedKeys } from '@chancery/sdk'
import { judgeFeed, judgeList, markOf } from './judge.ts'
import type { Problem } from './judge.ts'
import type { Memory } from './memory.ts'

/** One published document as it was found. */
export interface Sight {
  readonly problems: readonly Problem[]
  readonly sequence?: number
  readonly ageSeconds?: number
  readonly expiresInSeconds?: number
}

export interface Look {
  readonly at: Instant
  readonly crl: Sight
  readonly feed: Sight
  /** What to remember from now on. */
  readonly memory: Memory
}

interface LookParts {
  readonly client: Client
  readonly followed: FollowedKeys
  readonly now: () => Instant
  readonly canary: string | undefined
}

/** Reads both documents and judges each for itself: one that is missing must not hide what is wrong with the other. */
export async function look(parts: LookParts, memory: Memory): Promise<Look> {
  const { client, followed, now, canary } = parts
  // Who cannot be asked, or offers what the root did not sign, changes nothing about the keys that are held.
  await followed.follow(client).catch(() => 'unchanged')
  const [list, feed] = await Promise.all([
    attempt(() => client.crl.current()),
    attempt(() => client.revocationFeeds.current()),
  ])
  const at = now()
  const pin = { keys: followed.keys, now: at }
  const listProblems = isProblem(list) ? [list] : await judgeList(list, pin, memory.crl, canary)
  const feedProblems = isProblem(feed) ? [feed] : await judgeFeed(feed, pin, memory.feed)
  return {
    at,
    crl: { problems: listProblems, ...(isProblem(list) ? {} : describeList(list, at)) },
    feed: { problems: feedProblems, ...(isProblem(feed) ? {} : describeFeed(feed, at)) },
    memory: {
      ...memory,
      crl: isProblem(list) || !mayRemember(listProblems) ? memory.crl : markOf(list),
      feed:
        isProblem(feed) || !mayRemember(feedProblems)
          ? memory.feed
          : { ...markOf(feed), count: feed.revoked_attestation_ids.length },
    },
  }
}

/** An old list is still the latest one; one that contradicts what was seen must not become what was seen. */
function mayRemember(problems: readonly Problem[]): boolean {
  return !problems.some((problem) => ['unauthentic', 'rollback', 'equivocation', 'future', 'shrunk'].includes(problem))
}

async function attempt<Document>(read: () => Promise<Document>): Promise<Document | Problem> {
  try {
    return await read()
  } catch (error) {
    return error instanceof UnreachableError ? 'unreachable' : 'malformed'
  }
}

function isProblem(found: Crl | RevocationFeed | Problem): found is Problem {
  return typeof found === 'string'
}

function describeList(crl: Crl, at: Instant): Omit<Sight, 'problems'> {
  const { sequence } = crl
  return {
    sequence,
    ageSeconds: secondsOf(at - instantOf(crl.issued_at)),
    expiresInSeconds: secondsOf(instantOf(crl.next_update) - at),
  }
}

function describeFeed(feed: RevocationFeed, at: Instant): Omit<Sight, 'problems'> {
  return { sequence: feed.sequence, ageSeconds: secondsOf(at - instantOf(feed.issued_at)) }
}

function secondsOf(duration: Instant): number {
  return Number(duration / SECOND)
}
