import { asJson, visible } from '@chancery/protocol'
import type { PartnerChanges } from '@chancery/sdk'
import { wholeNumber } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { describePartner } from './describe.ts'
import { readFeedAge } from './feed-age.ts'

/** Runs `partner set`: changes what is given. */
export async function runPartnerSet(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const changes = readChanges(options)
  if (Object.keys(changes).length === 0) throw usageError('Give what to change. See: chancery partner set --help')
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.update(args.required('sovereign'), changes))
  const text = `${context.style.good('Changed')} ${visible(partner.sovereign_id)}.\n${describePartner(partner, context.now(), context.style)}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}

function readChanges(options: Options): PartnerChanges {
  for (const [one, other] of [
    ['pause', 'resume'],
    ['label', 'remove-label'],
    ['max-feed-age', 'default-feed-age'],
  ] as const)
    if (options.isSet(one) && options.isSet(other)) throw usageError(`Give --${one} or --${other}, not both.`)
  const [url, label, importing, http] = [
    options.text('address'),
    options.text('label'),
    options.text('import-feeds'),
    options.text('allow-http'),
  ]
  const [every, age] = [wholeNumber(options, 'every', 60, 86_400), readFeedAge(options)]
  return {
    ...(url === undefined ? {} : { url }),
    ...(label === undefined ? {} : { label }),
    ...(options.isSet('remove-label') ? { label: null } : {}),
    ...(importing === undefined ? {} : { import_feeds: importing === 'on' ? 'on' : 'off' }),
    ...(http === undefined ? {} : { allow_http: http === 'on' }),
    ...(every === undefined ? {} : { interval_seconds: every }),
    ...(age === undefined ? {} : { max_feed_age_seconds: age }),
    ...(options.isSet('default-feed-age') ? { max_feed_age_seconds: null } : {}),
    ...(options.isSet('pause') ? { paused: true } : {}),
    ...(options.isSet('resume') ? { paused: false } : {}),
  }
}
