import { resolve } from 'node:path'
import { SECOND, allAuthorityKeys, instantOf, writeInstant } from '@chancery/protocol'
import type { CompactCrl, Instant, JsonObject, RevocationFeed } from '@chancery/protocol'
import { connect, openForeign } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { timeSpan } from '../../arguments/time-span.ts'
import { FOR_ALL, replaceFile } from '../../files/files.ts'
import { requireFollowedKeys } from '../../connection/followed-keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { reporter } from '../../output/events.ts'
import { PROBLEMS, checkFeed, checkListed, positionOf, readWatchState, writeWatchState } from './check-lists.ts'
import type { Problem, WatchState } from './check-lists.ts'
import { UnreachableError } from '@chancery/sdk'
import type { Client } from '@chancery/sdk/authority'
import type { FollowedKeys } from '@chancery/sdk/internal'

/** Result of the check of one document. */
interface DocumentCheck {
  readonly problems: readonly Problem[]
  readonly sequence?: number
  readonly ageSeconds?: number
  readonly expiresInSeconds?: number
}

interface CheckRound {
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
async function checkPublished(parts: CheckParts, state: WatchState): Promise<CheckRound> {
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

/** Returns the last check as Prometheus text, for the textfile collector of the node exporter. */
export function metricsText({ at, crl, feed }: CheckRound): string {
  const lists = [
    ['crl', crl],
    ['feed', feed],
  ] as const
  const rows = (read: (check: DocumentCheck) => number | undefined): string[] =>
    lists.flatMap(([name, check]) => {
      const value = read(check)
      return value === undefined ? [] : [`{document="${name}"} ${value}`]
    })
  const problems = lists.flatMap(([name, check]) =>
    PROBLEMS.map((problem) => `{document="${name}",problem="${problem}"} ${check.problems.includes(problem) ? 1 : 0}`),
  )
  return [
    ...metric('chancery_watch_problem', '1 if a published document has this problem.', problems),
    ...metric(
      'chancery_watch_sequence',
      'Sequence of the published document.',
      rows((check) => check.sequence),
    ),
    ...metric(
      'chancery_watch_age_seconds',
      'Seconds since the document was signed.',
      rows((check) => check.ageSeconds),
    ),
    ...metric(
      'chancery_watch_expires_in_seconds',
      'Seconds until the document expires.',
      rows((check) => check.expiresInSeconds),
    ),
    ...metric('chancery_watch_last_look_timestamp_seconds', 'Time of the last check.', [` ${Number(at / SECOND)}`]),
    '',
  ].join('\n')
}

function metric(name: string, help: string, rows: readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, ...rows.map((row) => name + row)]
}

/** Runs `authority watch`: checks the published records like a verifier, once or repeatedly. */
export async function runWatch(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const followed = requireFollowedKeys(connection.followed)
  const [stateFile, metrics] = [
    resolvePath(context, options.text('state')),
    resolvePath(context, options.text('metrics-file')),
  ]
  // Every document is verified. That another network answers is a finding, and no end of the watch.
  const client = await openForeign(context, connection.url).client()
  const parts = { client, followed, now: context.now, canary: options.text('canary') }
  let state = await readWatchState(stateFile, allAuthorityKeys(followed.keys))
  const checkOnce = async (): Promise<CheckRound> => {
    const seen = await checkPublished(parts, state)
    state = seen.state
    if (stateFile !== undefined) await writeWatchState(stateFile, state)
    if (metrics !== undefined) await replaceFile(metrics, metricsText(seen), FOR_ALL)
    return seen
  }
  const every = readEvery(options)
  if (every === undefined) {
    const seen = await checkOnce()
    return { data: toJson(seen), text: toText(seen, context), exitCode: isGood(seen) ? 0 : 1 }
  }
  const [report, stop] = [reporter(context), context.stop()]
  let isLastGood = true
  while (!stop.aborted) {
    const seen = await checkOnce()
    isLastGood = isGood(seen)
    report({
      event: isLastGood ? 'good' : 'wrong',
      facts: toJson(seen),
      text: toLine(seen),
      tone: isLastGood ? 'good' : 'bad',
    })
    await context.sleep(every * 1000, stop)
  }
  return { exitCode: isLastGood ? 0 : 1 }
}

function readEvery(options: Options): number | undefined {
  return timeSpan(options, 'every', { unit: 's', min: 1, max: 86_400 })
}

function resolvePath({ cwd }: CommandContext, path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(cwd, path)
}

function isGood({ crl, feed }: CheckRound): boolean {
  return crl.problems.length + feed.problems.length === 0
}

function toJson(seen: CheckRound): JsonObject {
  return { ok: isGood(seen), looked_at: writeInstant(seen.at), crl: checkJson(seen.crl), feed: checkJson(seen.feed) }
}

function checkJson({ problems, sequence, ageSeconds, expiresInSeconds }: DocumentCheck): JsonObject {
  return {
    problems: [...problems],
    ...(sequence === undefined ? {} : { sequence }),
    ...(ageSeconds === undefined ? {} : { age_seconds: ageSeconds }),
    ...(expiresInSeconds === undefined ? {} : { expires_in_seconds: expiresInSeconds }),
  }
}

function toLine({ crl, feed }: CheckRound): string {
  return `list ${checkText(crl)}; feed ${checkText(feed)}`
}

function toText(seen: CheckRound, { style }: CommandContext): string {
  const line = (name: string, check: DocumentCheck): string =>
    `${check.problems.length === 0 ? style.good('good ') : style.bad('wrong')}  ${name}  ${checkText(check)}`
  return [line('list', seen.crl), line('feed', seen.feed)].join('\n')
}

function checkText({ problems, sequence, ageSeconds }: DocumentCheck): string {
  const age = ageSeconds ?? 0
  const signed = age < 0 ? `dated ${-age} s ahead of this clock` : `signed ${age} s ago`
  const number = sequence === undefined ? 'not read' : `${sequence}, ${signed}`
  return problems.length === 0 ? number : `${number}: ${problems.join(', ')}`
}
