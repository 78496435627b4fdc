import { type JsonObject, type RevocationFeed, readRevocationFeed, visible } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import { readFeedInParts, type Client, type FeedInParts } from '@chancery/sdk/authority'
import { NotFoundError } from '@chancery/sdk/compat'
import { connectAsOperator, openForeign } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/keys.ts'

const FEED = { name: 'a revocation feed', member: 'feed', read: readRevocationFeed } as const

/** Runs `partner import-feed`: from a file, or fetched from the other authority; the own authority checks it. */
export async function runFeedImport(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const keys = await loadPublicKeys(context.cwd, options, 'key')
  const issuer = options.text('issuer')
  const connection = await connectAsOperator(context, options)
  const found = await findFeed(context, args.required('feed'))
  const how = {
    ...(keys === undefined ? {} : { issuer_public_keys: keys }),
    ...(issuer === undefined ? {} : { expected_issuer_sovereign_id: issuer }),
    ...(options.isSet('accept-sequence-jump') ? { accept_sequence_jump: true } : {}),
  }
  const done = await connection.ask(({ revocationFeeds }) =>
    ('feed' in found
      ? revocationFeeds.import({ ...how, ...found })
      : revocationFeeds.importParts({ ...how, ...found })
    ).catch(toStored),
  )
  if ('stored' in done) {
    const { issuer_sovereign_id, sequence } = 'feed' in found ? found.feed : found.index
    const name = visible(issuer_sovereign_id)
    return { data: done.stored, text: `Nothing changed: feed ${sequence} of ${name} was imported before.` }
  }
  const rows = fields(
    [
      ['sequence', String(done.sequence)],
      ['revoked', String('feed' in found ? done.revoked_count : found.index.total_ids)],
      ['complete', done.complete ? 'yes' : 'no: the issuer has more revocations; import from its address'],
      ['trusted by', done.trust_basis === 'caller_supplied_keys' ? 'the keys you supplied' : 'the keys of a treaty'],
    ],
    style,
  )
  return { data: done, text: `${style.good('Imported')} the feed of ${visible(done.issuer_sovereign_id)}.\n${rows}` }
}

/** An unchanged feed is a success, so that a timer does not fail. An older feed, or one with other ids, is refused. */
function toStored(error: unknown): { readonly stored: JsonObject } {
  const isStored =
    error instanceof RefusedError && error.code === 'stale_sequence' && error.details['unchanged'] === true
  if (!isStored) throw error
  return { stored: error.details }
}

type Found = { readonly feed: RevocationFeed } | FeedInParts

async function findFeed(context: CommandContext, given: string): Promise<Found> {
  if (!/^https?:\/\//i.test(given)) return { feed: await loadRecord(context.cwd, given, FEED) }
  return openForeign(context, given).ask(fetchFeed)
}

/** Index and parts when there are several parts, otherwise the plain feed: it then has all ids. */
async function fetchFeed({ revocationFeeds }: Client): Promise<Found> {
  const index = await revocationFeeds.index().catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error
    return undefined
  })
  const hasParts = index !== undefined && index.part_bits > 0
  const inParts = hasParts ? await readFeedInParts(revocationFeeds, {}) : undefined
  return inParts ?? { feed: await revocationFeeds.current() }
}
