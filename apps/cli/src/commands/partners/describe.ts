import { type Instant, readInstant } from '@chancery/protocol'
import type { ListedPartner, Partner, PartnerAlarm } from '@chancery/sdk'
import { describeSpan } from '../../output/durations.ts'
import { shellWord } from '../../output/shell-word.ts'
import type { Style } from '../../output/style.ts'
import { fields, table } from '../../output/table.ts'
import { plural } from '../../output/plural.ts'

/** Returns a partner with everything a person needs, and what to do next. */
export function describePartner(partner: Partner, now: Instant, style: Style): string {
  const open = partner.alarms.filter((alarm) => alarm.cleared_at === null)
  return [
    fields(partnerRows(partner, now), style),
    ...(partner.alarms.length === 0 ? [] : ['', style.title('Alarms'), alarmTable(partner.alarms, style)]),
    ...nextSteps(partner, open, style),
  ].join('\n')
}

function partnerRows(partner: Partner, now: Instant): readonly (readonly [string, string])[] {
  const { pin, genesis, feed, crl, treaties, last_pull: last } = partner
  return [
    ['name', partner.sovereign_id],
    ...(partner.label === null ? [] : [['label', partner.label] as const]),
    ['address', partner.url],
    ['state', stateText(partner)],
    ['pinned by', pin.kind === 'root' ? `root key ${pin.root_public_key}` : pin.authority_public_keys.join(', ')],
    [
      'keys',
      partner.authority_keys.map((key) => `${key.public_key}${key.current ? ' (current)' : ''}`).join(', ') || '-',
    ],
    ['key ends', genesis?.valid_to ?? '-'],
    ['pull', `every ${partner.interval_seconds} s${partner.paused ? ', paused' : ''}`],
    ['last pull', last === null ? 'none' : `${last.outcome}, ${ago(last.at, now)}, ${last.duration_ms} ms`],
    ['last good', partner.last_good_pull_at === null ? 'none' : ago(partner.last_good_pull_at, now)],
    ['failures', String(partner.failures)],
    [
      'feed',
      feed === null ? '-' : `${feed.sequence} of ${feed.issued_at}, ${plural(feed.ids, 'id')}, ${importText(partner)}`,
    ],
    ['feed age', feedAgeText(partner.max_feed_age_seconds)],
    ['list', crl === null ? '-' : `${crl.sequence} of ${crl.issued_at}, ${plural(crl.entries, 'entry', 'entries')}`],
    ['treaties', treaties === null ? '-' : `${treaties.active} reported, ${treaties.refused} left out`],
  ]
}

export function stateText({ state, reasons }: ListedPartner): string {
  return reasons.length === 0 ? state : `${state} (${reasons.join(', ')})`
}

function importText({ import_feeds, feed }: ListedPartner): string {
  if (import_feeds === 'off') return 'not imported'
  const imported = feed?.imported_sequence ?? null
  return `imported ${imported === null ? 'never' : imported}${feed?.complete === true ? '' : ', incomplete'}`
}

function feedAgeText(max: number | null): string {
  if (max === null) return 'as the authority has it'
  return max === 0 ? 'not asked' : `at most ${max} s`
}

export function ago(at: string, now: Instant): string {
  const then = readInstant(at)
  return then === undefined ? at : `${describeSpan(now > then ? now - then : 0n)} ago`
}

function alarmTable(alarms: readonly PartnerAlarm[], style: Style): string {
  const lines = alarms.map((alarm) => [
    alarm.alarm_id,
    alarm.kind,
    alarm.material,
    alarm.sequence === null ? '-' : String(alarm.sequence),
    alarm.raised_at,
    alarm.cleared_at ?? 'open',
  ])
  return table(['ALARM', 'KIND', 'MATERIAL', 'SEQUENCE', 'RAISED', 'CLEARED'], lines, style)
}

function nextSteps({ sovereign_id, reasons }: Partner, open: readonly PartnerAlarm[], style: Style): readonly string[] {
  const name = shellWord(sovereign_id)
  const steps = [
    ...open.map(({ alarm_id }) => `chancery partner clear-alarm ${name} ${alarm_id} --reason <text>`),
    ...(reasons.includes('treaty_key_outdated') ? [`chancery treaty list --subject ${name}`] : []),
  ]
  return steps.length === 0 ? [] : ['', style.title('Next:'), ...steps.map((step) => `  ${step}`)]
}
