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
import { timeSpan } from '../../arguments/time-span.ts'
import { showTrustPath } from '../connectome/trust-path.ts'
import { addWithTreaty } from '../federation/bootstrap.ts'
import { fetchNetwork, problemsOf, readForeignPins, refuseProblems } from '../federation/fetch-network.ts'
import { showReported } from './treaties.ts'

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
    ...open.map(({ alarm_id }) => `chancery partner set ${name} --clear-alarm ${alarm_id} --reason checked`),
    ...(reasons.includes('treaty_key_outdated') ? [`chancery treaty list --subject ${name}`] : []),
  ]
  return steps.length === 0 ? [] : ['', style.title('Next:'), ...steps.map((step) => `  ${step}`)]
}

/** Runs `partner show`. */
export async function runPartnerShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const name = args.required('partner')
  const from = options.text('path-from')
  if (from !== undefined) return showTrustPath(context, options, from, name)
  if (options.isSet('treaties')) return showReported(context, options, name)
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.find(name))
  return { data: asJson(partner), text: describePartner(partner, context.now(), context.style) }
}

/** `partner set --clear-alarm`. */
async function clearAlarm(context: CommandContext, options: Options, sovereign: string): Promise<Result> {
  const { style } = context
  const alarm_id = options.text('clear-alarm') ?? ''
  const reason = requireReason(options)
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.clearAlarm(sovereign, { alarm_id, reason }))
  const text = `${style.good('Cleared')} alarm ${visible(alarm_id)}.\n${describePartner(partner, context.now(), style)}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}

function requireReason(options: Options): string {
  const reason = options.text('reason')
  if (reason === undefined) throw usageError('--reason must be given.', 'It is written to the audit log.')
  return reason
}

/** Runs `partner pull`: exit code 1 when the partner could not be read in full. */
export async function runPartnerPull(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const done = await connection.ask((client) => client.partners.pull(args.required('partner')))
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
      root === undefined ? 'The identity of the partner is missing.' : 'Give --root-key or --authority-key, not both.',
      'Get its genesis block or root key from the partner, not from this address.',
    )
  if (root !== undefined) return { root_public_key: await loadPublicKey(cwd, '--root-key', root) }
  return {
    authority_public_keys: await Promise.all(keys.map((key) => loadPublicKey(cwd, '--authority-key', key))),
  }
}

/** The pin of a new partner: a key, its genesis block, or what answers now when that is accepted. */
async function readPin(context: CommandContext, address: string, options: Options): Promise<PartnerPin> {
  const pins = await readForeignPins(context, options)
  if (pins.genesis === undefined && !options.isSet('trust-first-use')) return readPinOptions(context, options)
  if (options.isSet('root-key') || options.isSet('authority-key')) throw usageError('Give one identity of the partner.')
  const remote = await fetchNetwork(context, address)
  refuseProblems(remote, await problemsOf(context, remote, pins))
  if (pins.genesis === undefined) context.note(`trusted on first use; compare the fingerprint ${remote.fingerprint}`)
  return { root_public_key: remote.genesis.root_public_key }
}

/** `partner set` with a key: the owner of the new keys is the partner from then on, so it asks first. */
async function repin(context: CommandContext, options: Options, sovereign: string): Promise<Result> {
  const { style } = context
  const reason = requireReason(options)
  const pin = await readPinOptions(context, options)
  const connection = await connectAsOperator(context, options)
  const question = `Accept these keys of ${visible(sovereign)} at ${connection.url}?`
  await requireConsent(context, options, question, async () => {
    await connection.ask((client) => client.partners.find(sovereign))
  })
  const partner = await connection.ask((client) => client.partners.repin(sovereign, { ...pin, reason }))
  const text = `${style.good('Pinned')} the new keys of ${visible(partner.sovereign_id)}.\n${describePartner(partner, context.now(), style)}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}

/** Reads `--max-feed-age`: 0, or 60 seconds to 30 days. */
function readFeedAge(options: Options): number | undefined {
  const age = timeSpan(options, 'max-feed-age', { unit: 's', min: 0, max: 2_592_000 })
  if (age !== undefined && age > 0 && age < 60) throw usageError('--max-feed-age must be 0, or at least 60 seconds.')
  return age
}

/** Runs `partner add`. */
export async function runPartnerAdd(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  if (options.list('role').length > 0) return addWithTreaty(context, args, options)
  const { style } = context
  const pin = await readPin(context, args.required('address'), options)
  const [name, label] = [options.text('name'), options.text('label')]
  const [every, age] = [timeSpan(options, 'every', { unit: 's', min: 60, max: 86_400 }), readFeedAge(options)]
  if (options.isSet('defer') && name === undefined)
    throw usageError('--defer reads nothing, so the name is not known. Give --name.')
  const connection = await connectAsOperator(context, options, 'partner')
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
  const sovereign = args.required('partner')
  const changes = readChanges(options)
  const isPin = options.isSet('root-key') || options.isSet('authority-key')
  const kinds = [isPin, options.isSet('clear-alarm'), Object.keys(changes).length > 0].filter(Boolean)
  if (kinds.length > 1) throw usageError('Pin keys, clear an alarm and change other facts one after the other.')
  if (isPin) return repin(context, options, sovereign)
  if (options.isSet('clear-alarm')) return clearAlarm(context, options, sovereign)
  if (Object.keys(changes).length === 0) throw usageError('Give what to change. See: chancery partner set --help')
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.update(sovereign, changes))
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
  const [every, age] = [timeSpan(options, 'every', { unit: 's', min: 60, max: 86_400 }), readFeedAge(options)]
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
