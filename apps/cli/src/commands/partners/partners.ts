import { type Instant, asJson, readInstant, visible } from '@chancery/protocol'
import type { ListedPartner, Partner, PartnerAlarm, PartnerChanges, PartnerPin } from '@chancery/sdk/authority'
import { describeSpan } from '../../output/durations.ts'
import { shellWord } from '../../output/shell-word.ts'
import { type Result, type Style, fields, plural, table } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { loadPublicKey } from '../../files/keys.ts'
import { requireConsent } from '../../prompts/preview.ts'
import { wholeNumber } from '../../arguments/numbers.ts'

/** Returns a partner with everything a person needs, and what to do next. */
function describePartner(partner: Partner, now: Instant, style: Style): string {
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

/** Runs `partner show`. */
export async function runPartnerShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.find(args.required('sovereign')))
  return { data: asJson(partner), text: describePartner(partner, context.now(), context.style) }
}

/** Runs `partner clear-alarm`. */
export async function runPartnerClearAlarm(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { style } = context
  const [sovereign, alarm_id] = [args.required('sovereign'), args.required('alarm')]
  const reason = options.required('reason')
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.clearAlarm(sovereign, { alarm_id, reason }))
  const text = `${style.good('Cleared')} alarm ${visible(alarm_id)}.\n${describePartner(partner, context.now(), style)}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}

/** Runs `partner pull`: exit code 1 when the partner could not be read in full. */
export async function runPartnerPull(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const done = await connection.ask((client) => client.partners.pull(args.required('sovereign')))
  const isGood = done.outcome === 'ok' || done.outcome === 'unchanged'
  const changed = done.changed.length === 0 ? '' : ` New: ${done.changed.join(', ')}.`
  const first = `${isGood ? style.good('Pulled') : style.bad('Not pulled in full')}: ${visible(done.outcome)}.${visible(changed)}`
  return {
    data: asJson(done),
    // A failed pull says why, with --quiet as well.
    ...(isGood ? { ids: [done.partner.sovereign_id] } : {}),
    text: `${first}\n${describePartner(done.partner, context.now(), style)}`,
    exitCode: isGood ? 0 : 1,
  }
}

/** Reads the keys to pin: the root key, or authority keys. */
async function readPinOptions({ cwd }: CommandContext, options: Options): Promise<PartnerPin> {
  const [root, keys] = [options.text('root-key'), options.list('authority-key')]
  if ((root === undefined) === (keys.length === 0))
    throw usageError(
      'Give --root-key or --authority-key, not both.',
      'Get the key from the other side, by another way than its address.',
    )
  if (root !== undefined) return { root_public_key: await loadPublicKey(cwd, '--root-key', root) }
  return {
    authority_public_keys: await Promise.all(keys.map((key) => loadPublicKey(cwd, '--authority-key', key))),
  }
}

/** Runs `partner repin`: the owner of the new keys is the partner from then on, so it asks first. */
export async function runPartnerRepin(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const sovereign = args.required('sovereign')
  const pin = await readPinOptions(context, options)
  const connection = await connectAsOperator(context, options)
  const question = `Accept these keys of ${visible(sovereign)} at ${connection.url}?`
  await requireConsent(context, options, question, async () => {
    await connection.ask((client) => client.partners.find(sovereign))
  })
  const reason = options.required('reason')
  const partner = await connection.ask((client) => client.partners.repin(sovereign, { ...pin, reason }))
  const text = `${style.good('Pinned')} the new keys of ${visible(partner.sovereign_id)}.\n${describePartner(partner, context.now(), style)}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}

/** Reads `--max-feed-age`: 0, or 60 seconds to 30 days. */
function readFeedAge(options: Options): number | undefined {
  const age = wholeNumber(options, 'max-feed-age', 0, 2_592_000)
  if (age !== undefined && age > 0 && age < 60) throw usageError('--max-feed-age must be 0, or at least 60 seconds.')
  return age
}

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
