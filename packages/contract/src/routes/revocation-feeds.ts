import { readFeedIndex, readFeedPart, readRevocationFeed, shape } from '@chancery/protocol'
import { type AnswerOf, type SentOf, body } from '../form.ts'
import { flag, record, recordOrText, text, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { anyOf, arrayOf, mapOf, nullable, open, optional, withDefault } = shape

const feed = record('sovereign-revocation-feed', readRevocationFeed)
const index = record('feed-index', readFeedIndex)
const part = record('feed-part', readFeedPart)

const facts = {
  current: {
    id: 'GET /sovereign-revocation-feed',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Own revocation feed',
    purpose: 'Gives the signed list of attestations this authority revoked.',
    errors: ['feed_issuer_mismatch', 'unexpected_field'],
    answer: feed,
    gateway: {
      operation: 'attestations-sovereign-revocation-feed',
      group: 'attestations',
      query: ['issuer_sovereign_id'],
    },
  },
  index: {
    id: 'GET /sovereign-revocation-feed/index',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Index of the own revocation feed',
    purpose: 'Gives the signed index that names every part of the feed by its digest.',
    answer: index,
    gateway: { operation: 'attestations-feed-index', group: 'attestations', since: 'v0.60' },
  },
  part: {
    id: 'GET /sovereign-revocation-feed/parts/{part}',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Part of the own revocation feed',
    purpose: 'Gives the revoked attestations of one part, bound by the digest in the index.',
    errors: ['feed_part_not_found'],
    answer: part,
    gateway: {
      operation: 'attestations-feed-part',
      group: 'attestations',
      since: 'v0.60',
      maxResponseBytes: 4_194_304,
    },
  },
  // A full feed lists 50000 ids. A bad signature is a malformed feed here, not a failed login (protocol/core 23).
  import: {
    id: 'POST /admin/sovereign-revocation-feeds/import',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Import a revocation feed',
    purpose: 'Takes over the revocations of another sovereign after checking its signature and sequence.',
    errors: [
      'import_capacity',
      'invalid_input',
      'invalid_public_keys',
      'invalid_signature',
      'invalid_sovereign_revocation_feed',
      'missing_issuer_public_keys',
      'missing_signature',
      'stale_sequence',
      'wrong_issuer',
    ],
    body: body(
      'invalid_input',
      {
        feed: optional(recordOrText(feed)),
        /** In place of a feed: its index, and some of the parts that the index names. */
        index: optional(recordOrText(index)),
        parts: optional(arrayOf(part, { min: 1, max: 16 })),
        /** Keys that the operator supplies, by key id or as a list; without any those of an active treaty are used. */
        issuer_public_keys: optional(nullable(anyOf(arrayOf(shape.string, { max: 64 }), mapOf(shape.string)))),
        expected_issuer_sovereign_id: optional(shape.string),
        /** Accepts a feed whose sequence is more than a million ahead of the last one. */
        accept_sequence_jump: optional(shape.boolean),
      },
      {
        feed: { paste: '<sovereign revocation feed>' },
        issuer_public_keys: { '<key id>': '<public key of the feed>' },
      },
    ),
    answer: open({
      accepted: flag,
      reason: text,
      feed_id: text,
      issuer_sovereign_id: text,
      sequence: whole,
      revoked_count: whole,
      trust_basis: text,
      /** True when every revocation of the issuer up to this sequence is stored; false while parts are missing. */
      complete: withDefault(shape.boolean, true),
    }),
    statuses: { invalid_signature: 400 },
    bodyLimit: 'feed',
    readLimit: 'feed',
    records: { feed: 'invalid_sovereign_revocation_feed', index: 'invalid_sovereign_revocation_feed' },
    gateway: { operation: 'treaties-import-sovereign-revocation-feed', group: 'treaties' },
  },
} as const

/** Revoked attestations, published to and imported from partner networks (protocol/core 18). */
export const revocationFeeds: Routes<typeof facts> = routes(facts)

export type FeedImport = AnswerOf<typeof revocationFeeds.import>
/** A feed; or an index and some of its parts. */
export type FeedImportRequest = SentOf<typeof revocationFeeds.import>
