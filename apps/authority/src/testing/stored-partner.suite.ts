import { DAY, writeJson, writeSortable } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type TestAuthority, accepted } from '@chancery/testkit'

/** A partner as its pulls store it, with a treaty about this network that names the key. */
export async function addPartner(na: TestAuthority, sovereign_id: string, key?: string): Promise<void> {
  const [now, end] = [systemClock.now(), systemClock.now() + DAY].map(writeSortable)
  await na.core.database.write(async ({ query }) => {
    const times = { added_at: now ?? '', next_pull_at: end ?? '' }
    const none = { max_feed_age_seconds: null, label: null, pull_token: null, pull_until: null, asked_at: null }
    const pulls = { last_pull_at: null, last_outcome: null, last_duration_ms: null, last_good_pull_at: null }
    const counts = { import_feeds: 0, interval_seconds: 300, allow_http: 0, paused: 0, open_alarms: 0, failures: 0 }
    const texts = { url: 'https://partner.example', pin_json: '{}', added_by: 'op', stored_json: '{}' }
    const row = { sovereign_id, treaties_as_of: null, ...times, ...none, ...pulls, ...counts, ...texts }
    await query.insertInto('partners').values(row).execute()
  })
  if (key === undefined) return
  const body = { subject_sovereign_id: 'ANY', subject_public_keys: [key] }
  const issued = accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
  await na.core.database.write(({ query }) =>
    query
      .insertInto('reported_treaties')
      .values({
        sovereign_id,
        treaty_id: sovereign_id,
        subject_sovereign_id: na.genesis.network_name,
        treaty_json: writeJson(issued),
        digest: sovereign_id,
        valid_from: '',
        expires_at: '',
        starts_at: now ?? '',
        ends_at: end ?? '',
        hidden: 0,
      })
      .execute(),
  )
}
