import { resolve } from 'node:path'
import { allAuthorityKeys, writeInstant } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { FollowedKeys } from '@chancery/sdk'
import { connect } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { misuse } from '../../failure.ts'
import { FOR_ALL, replaceFile } from '../../files.ts'
import { keysFileOf, openFollowedKeys } from '../../followed-keys.ts'
import { loadVerifiedGenesis } from '../../genesis-file.ts'
import type { Arguments, Options } from '../../options.ts'
import { reporter } from '../../output/events.ts'
import { look } from './look.ts'
import type { Look, Sight } from './look.ts'
import { readMemory, writeMemory } from './memory.ts'
import { metricsText } from './metrics-text.ts'

/** watch: reads what the authority publishes as a verifier would, once or again and again. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const followed = await findKeys(context, options, connection.followed)
  const [state, metrics] = [place(context, options.text('state')), place(context, options.text('metrics-file'))]
  const parts = { client: connection.client(), followed, now: context.now, canary: options.text('canary') }
  let memory = await readMemory(state, allAuthorityKeys(followed.keys))
  const lookOnce = async (): Promise<Look> => {
    const seen = await look(parts, memory)
    memory = seen.memory
    if (state !== undefined) await writeMemory(state, memory)
    if (metrics !== undefined) await replaceFile(metrics, metricsText(seen), FOR_ALL)
    return seen
  }
  const every = readEvery(options)
  if (every === undefined) {
    const seen = await lookOnce()
    return { data: toJson(seen), text: toText(seen, context), exitCode: isGood(seen) ? 0 : 1 }
  }
  const [report, stop] = [reporter(context), context.stop()]
  let isLastGood = true
  while (!stop.aborted) {
    const seen = await lookOnce()
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

/** Without a pin nothing can be told from a list: whoever answers would vouch for himself. */
async function findKeys(
  context: CommandContext,
  options: Options,
  configured: FollowedKeys | undefined,
): Promise<FollowedKeys> {
  const file = options.text('genesis')
  if (file !== undefined) {
    const path = resolve(context.cwd, file)
    return openFollowedKeys(await loadVerifiedGenesis(path), keysFileOf(path))
  }
  if (configured !== undefined) return configured
  throw misuse('No genesis block pins the authority.', 'Give --genesis <file>, or a configuration with paths.genesis.')
}

function readEvery(options: Options): number | undefined {
  const text = options.text('every')
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 86_400) throw misuse('--every must be 1 to 86400 seconds.')
  return seconds
}

function place({ cwd }: CommandContext, path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(cwd, path)
}

function isGood({ crl, feed }: Look): boolean {
  return crl.problems.length + feed.problems.length === 0
}

function toJson(seen: Look): JsonObject {
  return { ok: isGood(seen), looked_at: writeInstant(seen.at), crl: sightJson(seen.crl), feed: sightJson(seen.feed) }
}

function sightJson({ problems, sequence, ageSeconds, expiresInSeconds }: Sight): JsonObject {
  return {
    problems: [...problems],
    ...(sequence === undefined ? {} : { sequence }),
    ...(ageSeconds === undefined ? {} : { age_seconds: ageSeconds }),
    ...(expiresInSeconds === undefined ? {} : { expires_in_seconds: expiresInSeconds }),
  }
}

function toLine({ crl, feed }: Look): string {
  return `list ${sightText(crl)}; feed ${sightText(feed)}`
}

function toText(seen: Look, { style }: CommandContext): string {
  const line = (name: string, sight: Sight): string =>
    `${sight.problems.length === 0 ? style.good('good ') : style.bad('wrong')}  ${name}  ${sightText(sight)}`
  return [line('list', seen.crl), line('feed', seen.feed)].join('\n')
}

function sightText({ problems, sequence, ageSeconds }: Sight): string {
  const number = sequence === undefined ? 'not read' : `${sequence}, signed ${ageSeconds ?? 0} s ago`
  return problems.length === 0 ? number : `${number}: ${problems.join(', ')}`
}
