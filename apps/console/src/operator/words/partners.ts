/** Sentences for what the authority reports about a partner. The code is shown with each of them. */

/** Outcomes of a pull. */
export const PULL_WORDS: Readonly<Record<string, string>> = {
  ok: 'read, with something new',
  unchanged: 'read, nothing new',
  unreachable: 'its address does not respond',
  timeout: 'it responds too slowly',
  redirect: 'its address redirects, which is not followed',
  too_large: 'it sends more than the limit',
  malformed: 'it sends something that cannot be read',
  unauthentic: 'its signature does not match the pinned keys',
  mismatch: 'another network responds at its address',
  rollback: 'it shows an older list than before',
  equivocation: 'it shows two different forms of one record',
  store_failed: 'the database did not store the result',
}

/** States of reading. */
export const READING_WORDS: Readonly<Record<string, string>> = {
  alarm: 'it contradicts itself',
  paused: 'pulls are paused',
  new: 'never read',
  fresh: 'read on time',
  watch: 'not read on time',
  stale: 'not read for a day',
}

/** Reasons to check a partner. */
export const ATTENTION_WORDS: Readonly<Record<string, string>> = {
  metadata_mismatch: 'Its /sovereign.json differs from its genesis block.',
  clock_offset: 'Its clock differs from this one.',
  key_changed: 'It has a new authority key since less than 7 days.',
  treaty_key_outdated:
    'Our treaty names none of its present keys. Its members are refused until you replace the treaty.',
  feed_incomplete: 'Not all of its revocations are imported.',
  feed_old: 'It has not signed its feed for a day.',
  crl_old: 'Its revocation list is overdue.',
  treaties_truncated: 'It has more treaties than were read.',
  edge_limit: 'The limit of reported treaties is reached.',
  key_announced: 'It announces its next authority key.',
  genesis_ending: 'Its authority key ends within 14 days.',
}

/** Kinds of alarms. */
export const ALARM_WORDS: Readonly<Record<string, string>> = {
  equivocation: 'It showed two different forms of one record',
  rollback: 'It shows an older list than before',
  sequence_jump: 'Its feed skips too many numbers and was not imported',
  key_history_changed: 'A former key is missing in its key history',
  import_capacity: 'Its feed has more ids than can be imported',
}

/** Returns the sentence, or the code of a newer authority as it is. */
export function wordOf(table: Readonly<Record<string, string>>, code: string): string {
  return Object.hasOwn(table, code) ? (table[code] ?? code) : code
}
