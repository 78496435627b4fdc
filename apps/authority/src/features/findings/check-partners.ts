import { HOUR, type Instant, MINUTE, readInstant, writeInstant } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import { toWireTime } from '../../requests/list-position.ts'
import { type DescribedPartners, type PartnersView, describePartners } from '../partners/index.ts'
import { listExpiry } from '../recognition-treaties/index.ts'
import { type PeerFeed, listPeerFeeds } from '../revocation-feeds/index.ts'
import type { CheckedNetwork } from './check-lists.ts'

const ENDING_WITHIN = 72n * HOUR

/** Checks what must be fresh for correct decisions about members of partners. */
export async function checkPartners({ database, name, now }: CheckedNetwork): Promise<readonly Finding[]> {
  const db = database.read
  const ends = await listExpiry(db, now)
  const feeds = await listPeerFeeds(db, now)
  const described = name === undefined ? undefined : await describePartners(db, name, now)
  return [
    ...ends.flatMap((each) => checkTreaty(each, now)),
    ...feeds.map((feed) => checkFeed(feed, now)),
    ...(described === undefined ? [] : partnerFindings(described.view, described.outdatedTreaties)),
    ...(described?.silent ?? []).slice(0, NAMED_PARTNERS).map((each) => silenceFinding(each, now)),
    ...(described?.announced ?? []).slice(0, NAMED_PARTNERS).map(announcementFinding),
  ]
}

/** Findings about single partners, of each kind. */
const NAMED_PARTNERS = 20

function silenceFinding({ sovereign_id, since }: DescribedPartners['silent'][number], now: Instant): Finding {
  const at = toWireTime(since) ?? ''
  const minutes = Number((now - (readInstant(since) ?? 0n)) / MINUTE)
  return warn(
    'partner-contact',
    `No contact with ${sovereign_id} for ${minutes} minutes`,
    `Find the cause with chancery partner pull ${sovereign_id}. To refuse its members after a silence, set NA_PARTNER_CONTACT_MAX_AGE_SECONDS.`,
    { effect: 'Members that it revoked since then are accepted here.', about: sovereign_id, at },
  )
}

function announcementFinding({ sovereign_id, public_key, treaties }: DescribedPartners['announced'][number]): Finding {
  const found = `${sovereign_id} announces its next key ${public_key}`
  const [treaty] = treaties
  if (treaty === undefined) return good('partner-key', `${found}, and every treaty with it names the key`)
  const keys = [...treaty.subject_public_keys, public_key].map((key) => `--key ${key}`).join(' ')
  return warn(
    'partner-key',
    found,
    `Compare the key with the partner, then run chancery treaty renew ${treaty.treaty_id} ${keys}.`,
    {
      effect: 'When the partner signs with it, its members are not accepted here.',
      about: sovereign_id,
    },
  )
}

function checkTreaty(
  { sovereign, ends }: { readonly sovereign: string; readonly ends: string },
  now: Instant,
): readonly Finding[] {
  const left = (readInstant(ends) ?? 0n) - now
  if (left >= ENDING_WITHIN) return []
  const at = toWireTime(ends) ?? ''
  if (left <= 0n)
    return [
      bad(
        'treaty',
        `The treaty with ${sovereign} ended ${at}`,
        'Get its id with chancery treaty list, then run chancery treaty renew ID. If the end is intended: chancery treaty revoke ID.',
        { effect: 'Its members are not accepted here.', about: sovereign, at },
      ),
    ]
  return [
    warn(
      'treaty',
      `The treaty with ${sovereign} ends ${at}`,
      'Get its id with chancery treaty list, then run chancery treaty renew ID.',
      { effect: 'Then its members are not accepted here.', about: sovereign, at },
    ),
  ]
}

function checkFeed({ sovereign, seenAt }: PeerFeed, now: Instant): Finding {
  const fix = `Run chancery partner import-feed <address of ${sovereign}>, and a timer that repeats it every hour.`
  const effect = 'Members that it revoked since then are accepted here.'
  const about = sovereign
  if (seenAt === undefined)
    return bad('peer-feed', `The revocation feed of ${sovereign} was never imported in full`, fix, {
      effect: 'Members that it revoked are accepted here.',
      about,
    })
  const age = Number((now - seenAt) / HOUR)
  if (age < 24) return good('peer-feed', `${sovereign}, ${age} h ago`)
  const make = age >= 72 ? bad : warn
  return make('peer-feed', `The revocation feed of ${sovereign} is ${age} h old`, fix, {
    effect,
    about,
    at: writeInstant(seenAt),
  })
}

const NAMED_TREATIES = 5

/** Partners whose published records contradict each other, were not read, or have other keys than a treaty names. */
export function partnerFindings(
  { states: { alarm, stale } }: Pick<PartnersView, 'states'>,
  outdatedTreaties: readonly string[],
): readonly Finding[] {
  const [first] = outdatedTreaties
  const shown = outdatedTreaties.slice(0, NAMED_TREATIES).map((id) => `chancery treaty renew ${id}`)
  const more = outdatedTreaties.length > NAMED_TREATIES ? `, and ${outdatedTreaties.length - NAMED_TREATIES} more` : ''
  return [
    ...(alarm > 0
      ? [
          bad(
            'partner-alarm',
            `${countOf(alarm, 'partner')} with an alarm`,
            'Find the cause with chancery partner list --state alarm.',
          ),
        ]
      : []),
    ...(stale > 0
      ? [
          warn(
            'partner-stale',
            `${countOf(stale, 'partner')} not read for over 24 hours`,
            'See chancery partner list --state stale.',
          ),
        ]
      : []),
    ...(first === undefined
      ? []
      : [
          bad(
            'treaty-keys',
            `${countOf(outdatedTreaties.length, 'treaty', 'treaties')} without a current key of the partner, so its members are refused`,
            `Run ${shown.join(', ')}${more}.`,
            { about: first },
          ),
        ]),
  ]
}

/** Decisions that a feed would have changed. */
export function denialFindings(deniedForFreshness: number): readonly Finding[] {
  if (deniedForFreshness === 0) return []
  return [
    warn(
      'feed-denials',
      `${countOf(deniedForFreshness, 'decision')} on members of partners denied in the last hour, because no recent revocation feed of the partner is imported`,
      'Import it, or set import_feeds of the partner to on.',
    ),
  ]
}

export function countOf(number: number, word: string, many = `${word}s`): string {
  return `${number} ${number === 1 ? word : many}`
}
