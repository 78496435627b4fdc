import { resolve } from 'node:path'
import { type JsonObject, allAuthorityKeys, writeInstant } from '@chancery/protocol'
import { connect, openForeign } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { FOR_ALL, replaceFile } from '../../files/files.ts'
import { requireFollowedKeys } from '../../connection/followed-keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { reporter } from '../../output/events.ts'
import { type CheckRound, type DocumentCheck, checkPublished } from './check-published.ts'
import { readWatchState, writeWatchState } from './watch-state.ts'
import { metricsText } from './metrics-text.ts'

/** Runs `watch`: checks the published records like a verifier, once or repeatedly. */
export async function runWatch(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connect(context, options, options.text('genesis'))
  const followed = requireFollowedKeys(connection.followed)
  const [stateFile, metrics] = [
    resolvePath(context, options.text('state')),
    resolvePath(context, options.text('metrics-file')),
  ]
  // Every document is verified. That another network answers is a finding, and no end of the watch.
  const client = openForeign(context, connection.url).client()
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
  const text = options.text('every')
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 86_400)
    throw usageError('--every must be 1 to 86400 seconds.')
  return seconds
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
