import { readRevocationFeed, visible } from '@chancery/protocol'
import type { RevocationFeed } from '@chancery/protocol'
import { connectAsOperator, openForeign } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadRecord } from '../../json-file.ts'
import type { Arguments, Options } from '../../options.ts'
import { fields } from '../../output/table.ts'
import { loadPublicKeys } from '../../public-keys.ts'

const FEED = { name: 'a revocation feed', member: 'feed', read: readRevocationFeed } as const

/** feed import: from a file, or fetched from the other authority; the own one checks it. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const keys = await loadPublicKeys(context.cwd, options, 'issuer-key')
  const issuer = options.text('issuer')
  const connection = await connectAsOperator(context, options)
  const feed = await findFeed(context, args.required('feed'))
  const request = {
    feed,
    ...(keys === undefined ? {} : { issuer_public_keys: keys }),
    ...(issuer === undefined ? {} : { expected_issuer_sovereign_id: issuer }),
    ...(options.isSet('accept-sequence-jump') ? { accept_sequence_jump: true } : {}),
  }
  const done = await connection.ask((client) => client.revocationFeeds.import(request))
  const rows = fields(
    [
      ['sequence', String(done.sequence)],
      ['revoked', String(done.revoked_count)],
      ['trusted by', done.trust_basis === 'caller_supplied_keys' ? 'the keys you vouched for' : 'the keys of a treaty'],
    ],
    style,
  )
  return { data: done, text: `${style.good('Imported')} the feed of ${visible(done.issuer_sovereign_id)}.\n${rows}` }
}

function findFeed(context: CommandContext, given: string): Promise<RevocationFeed> {
  if (!/^https?:\/\//i.test(given)) return loadRecord(context.cwd, given, FEED)
  return openForeign(context, given).ask((client) => client.revocationFeeds.current())
}
