import { asJson, visible } from '@chancery/protocol'
import { wholeNumber } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { shellWord } from '../../output/shell-word.ts'
import { describePartner } from './describe.ts'
import { readFeedAge } from './feed-age.ts'
import { readPinOptions } from './pin.ts'

/** Runs `partner add`. */
export async function runPartnerAdd(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const pin = await readPinOptions(context, options)
  const [name, label] = [options.text('name'), options.text('label')]
  const [every, age] = [wholeNumber(options, 'every', 60, 86_400), readFeedAge(options)]
  if (options.isSet('defer') && name === undefined)
    throw usageError('--defer reads nothing, so the name is not known. Give --name.')
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) =>
    client.partners.add({
      ...pin,
      url: args.required('address'),
      import_feeds: options.isSet('import-feeds') ? 'on' : 'off',
      allow_http: options.isSet('allow-http'),
      defer: options.isSet('defer'),
      ...(name === undefined ? {} : { sovereign_id: name }),
      ...(label === undefined ? {} : { label }),
      ...(every === undefined ? {} : { interval_seconds: every }),
      ...(age === undefined ? {} : { max_feed_age_seconds: age }),
    }),
  )
  const shown = shellWord(partner.sovereign_id)
  const next = `${style.title('Next:')}\n  ${context.again(`chancery partner pull ${shown}`)}\n  ${context.again(`chancery partner show ${shown}`)}`
  const note = 'It recognises no members: only a treaty does.'
  const text = `${style.good('Added')} ${visible(partner.sovereign_id)}. ${note}\n${describePartner(partner, context.now(), style)}\n\n${next}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}
