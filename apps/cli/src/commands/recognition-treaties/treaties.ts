import {
  HOUR,
  SECOND,
  STANDINGS,
  canonicalJson,
  instantOf,
  sha256Hex,
  toUtf8,
  treatyCapabilities,
  visible,
} from '@chancery/protocol'
import type { AttestationStatus, RecognitionTreaty, TreatyLifecycle } from '@chancery/protocol'
import { describeSpan } from '../../output/durations.ts'
import { type Result, type Style, cutText, fields, table } from '../../output/screen.ts'
import type { Client, TreatyFilter, TreatyRequest, TreatyRow } from '@chancery/sdk/authority'
import { type Connection, connect, connectAsOperator } from '../../connection/connection.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { CommandContext } from '../../context.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { timeSpan, timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { loadPublicKeys } from '../../files/keys.ts'
import { replaceTreaty } from './replace.ts'

export type Succession = 'renewed_by' | 'replaced_by'

/** Returns the treaty to replace; a treaty that has ended cannot be replaced. */
export async function findPredecessor(connection: Connection, id: string): Promise<TreatyRow> {
  const row = await connection.ask((client) => client.recognitionTreaties.find(id))
  if (row.status !== 'revoked') return row
  const next = row.lifecycle.replacement_treaty_id
  const hint =
    next === null
      ? 'Issue a new treaty: chancery treaty issue, or chancery partner add.'
      : `It was followed by ${visible(next)}: use that one.`
  throw new CommandError({ code: 'treaty_ended', message: `Treaty ${visible(id)} has ended already.`, hint })
}

/** With the lifetime of the old one. */
export function hoursOf({ valid_from, expires_at }: RecognitionTreaty): number {
  const hours = Number((instantOf(expires_at) - instantOf(valid_from)) / HOUR)
  return Math.min(Math.max(hours, 1), 26_280)
}

export type Terms = Required<Omit<TreatyRequest, 'issuer_sovereign_id'>>

/** Returns the request for an equal treaty. */
export function sameAs(treaty: RecognitionTreaty, validityHours = hoursOf(treaty)): Terms {
  const { subject_sovereign_id, subject_public_keys, scope, metadata } = treaty
  return { subject_sovereign_id, subject_public_keys, scope, metadata, validity_hours: validityHours }
}

/**
 * Signs the new treaty and ends the old one in one request. The idempotency key is derived from both, so that a retry
 * after a lost response does not issue a third treaty.
 */
export async function succeed(
  connection: Connection,
  old: RecognitionTreaty,
  request: Terms,
  succession: Succession,
): Promise<RecognitionTreaty> {
  const text = canonicalJson({ ...request, scope: { ...request.scope } })
  const idempotencyKey = `${succession}:${sha256Hex(toUtf8(`${old.treaty_id}\n${text}`))}`
  const { validity_hours, subject_public_keys, scope } = request
  const changes = succession === 'renewed_by' ? { validity_hours } : { validity_hours, subject_public_keys, scope }
  const { treaty } = await connection.ask((client) =>
    client.recognitionTreaties.renew(old.treaty_id, changes, { idempotencyKey }),
  )
  const { status } = await connection.ask((client) => client.recognitionTreaties.find(treaty.treaty_id))
  // A stored response may name a treaty that was revoked later.
  if (status !== 'active')
    throw new CommandError({
      code: 'treaty_ended',
      message: `Treaty ${visible(treaty.treaty_id)}, which followed, was revoked since.`,
      hint: 'Issue a new treaty: chancery treaty issue, or chancery partner add.',
    })
  return treaty
}

export function describeTreaty(treaty: RecognitionTreaty, style: Style, lifecycle?: TreatyLifecycle): string {
  const { scope, metadata } = treaty
  const texts = Object.entries(metadata).map(([name, value]) => `${name}=${typeof value === 'string' ? value : '…'}`)
  return fields(
    [
      ['treaty', treaty.treaty_id],
      ['issuer', treaty.issuer_sovereign_id],
      ['recognises', treaty.subject_sovereign_id],
      ['roles', scope.allowed_roles.join(', ') || 'none: no member is accepted'],
      ['statuses', scope.accepted_statuses.join(', ') || 'none: no member is accepted'],
      ['capabilities', treatyCapabilities(scope)?.join(', ') ?? 'none: no decision allows a member anything'],
      ['valid', `${treaty.valid_from} to ${treaty.expires_at}`],
      ...(lifecycle === undefined ? [] : [['state', stateText(lifecycle)] as const]),
      ...treaty.subject_public_keys.map((key) => ['key', key] as const),
      ...(texts.length === 0 ? [] : [['metadata', texts.join(', ')] as const]),
    ],
    style,
  )
}

function stateText(lifecycle: TreatyLifecycle): string {
  const { state, seconds_until_expiry: left, replacement_treaty_id: next, revocation_reason: reason } = lifecycle
  if (state === 'replaced') return `replaced by ${next ?? '-'}`
  if (state === 'revoked') return `revoked at ${lifecycle.revoked_at ?? '-'} (${reason ?? '-'})`
  if (state === 'expired' || left === null) return state
  const span = describeSpan(BigInt(left) * SECOND)
  return state === 'expiring_soon' ? `ends in ${span}: renew it` : `active, for ${span}`
}

/** Runs `treaty renew`: it removes no recognition, so it does not ask. */
export async function runTreatyRenew(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  if (['key', 'role', 'accept-status', 'capability'].some((name) => options.isSet(name)))
    return replaceTreaty(context, args, options)
  const { style } = context
  const hours = timeSpan(options, 'valid-for', { unit: 'h', min: 1, max: 26_280 })
  const connection = await connectAsOperator(context, options)
  const { treaty: old } = await findPredecessor(connection, args.required('id'))
  if (options.isSet('dry-run')) {
    const text = `Would renew treaty ${visible(old.treaty_id)} with the same terms.\nNothing was changed.`
    return { data: { dry_run: true, treaty: old }, text }
  }
  const treaty = await succeed(connection, old, sameAs(old, hours), 'renewed_by')
  const text = `${style.good('Renewed')} treaty ${visible(old.treaty_id)} by:\n${describeTreaty(treaty, style)}`
  return { data: { renewed: old.treaty_id, treaty }, ids: [treaty.treaty_id], text }
}

/** Checks --accept-status, because the parser cannot check the choices of a repeatable flag. */
export function readStatuses(options: Options): readonly AttestationStatus[] | undefined {
  const given = options.list('accept-status')
  if (given.length === 0) return undefined
  return [...new Set(given)].map((word) => {
    const currentStatus = STANDINGS.find((each) => each === word)
    if (currentStatus === undefined) throw usageError(`--accept-status must be one of ${STANDINGS.join(', ')}.`)
    return currentStatus
  })
}

/** Checks --capability: exact capabilities and patterns such as `ledger.*` that the treaty grants in decisions. */
export function readCapabilities(options: Options): readonly string[] | undefined {
  const given = [...new Set(options.list('capability'))]
  if (given.length === 0) return undefined
  if (treatyCapabilities({ claims: { capabilities: given } }) === null)
    throw usageError('--capability must be a capability or a pattern such as ledger.*, and at most 256 of them.')
  return given
}

/** Runs `treaty issue` with keys that the operator has checked; partner add --role checks them itself. */
export async function runTreatyIssue(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const [roles, statuses] = [options.list('role'), readStatuses(options)]
  const capabilities = readCapabilities(options)
  const request = {
    subject_sovereign_id: args.required('partner'),
    subject_public_keys: (await loadPublicKeys(context.cwd, options, 'key')) ?? [],
    scope: {
      allowed_roles: roles,
      ...(statuses === undefined ? {} : { accepted_statuses: statuses }),
      ...(capabilities === undefined ? {} : { claims: { capabilities } }),
    },
    validity_hours: timeSpanOrDefault(options, 'valid-for', { unit: 'h', min: 1, max: 26_280 }),
    metadata: readPairs(options, 'metadata'),
  }
  if (roles.length === 0) context.note('without --role no member of the network is accepted')
  const connection = await connectAsOperator(context, options)
  const treaty = await connection.ask((client) => client.recognitionTreaties.issue(request))
  return { data: treaty, ids: [treaty.treaty_id], text: `${style.good('Issued:')}\n${describeTreaty(treaty, style)}` }
}

interface Found {
  readonly rows: readonly TreatyRow[]
  readonly total: number | null | undefined
  readonly isCut: boolean
}

/** Runs `treaty list`: recognised networks, with the end of each treaty. */
export async function runTreatyList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const filter = readFilter(options)
  const connection = await connect(context, options)
  const isAll = options.isSet('all')
  const found = await connection.ask((client) => (isAll ? fetchAll(client, filter) : fetchSome(client, filter, limit)))
  return describe(context, found)
}

function readFilter(options: Options): TreatyFilter {
  const [subject, prefix] = [options.text('subject'), options.text('prefix')]
  // The parser allows these words only.
  const state = options.text('state') as TreatyFilter['lifecycle']
  return {
    ...(subject === undefined ? {} : { subject_sovereign_id: subject }),
    ...(prefix === undefined ? {} : { q: prefix }),
    ...(state === undefined ? {} : { lifecycle: state }),
    ...(options.isSet('by-end') ? { sort: 'expires_at' } : {}),
  }
}

async function fetchAll(client: Client, filter: TreatyFilter): Promise<Found> {
  const rows: TreatyRow[] = []
  for await (const row of client.recognitionTreaties.all({ ...filter, limit: 1000 })) rows.push(row)
  return { rows, total: rows.length, isCut: false }
}

async function fetchSome(client: Client, filter: TreatyFilter, limit: number): Promise<Found> {
  const page = await client.recognitionTreaties.list({ ...filter, limit })
  const isCut = page.next_cursor !== null && page.next_cursor !== undefined
  return { rows: page.recognition_treaties, total: page.total, isCut }
}

function describe({ style }: CommandContext, { rows, total, isCut }: Found): Result {
  const data = { count: rows.length, total: total ?? null, recognition_treaties: rows }
  if (rows.length === 0) return { data, text: 'No treaty.', ids: [] }
  const lines = rows.map(({ treaty, lifecycle }) => [
    treaty.treaty_id,
    `${treaty.issuer_sovereign_id} ──▶ ${treaty.subject_sovereign_id}`,
    treaty.scope.allowed_roles.join(',') || '-',
    treaty.expires_at,
    stateText(lifecycle),
  ])
  const number = `${rows.length} treat${rows.length === 1 ? 'y' : 'ies'}.`
  const head = ['TREATY', 'RECOGNISES', 'ROLES', 'UNTIL', 'STATE']
  return {
    data,
    ids: rows.map(({ treaty }) => treaty.treaty_id),
    text: `${table(head, lines, style)}\n\n${number}${cutText(isCut, rows.length, total)}`,
  }
}
